"""A zygote and the lives and deaths of its children."""
import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from zygote_host import Gone, Host, Refused  # noqa: E402

host = None


def setUpModule():
    global host
    host = Host()


def tearDownModule():
    host.close()


def alive(pid):
    """Whether the process exists and is no zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=20):
    """Waits, and says whether it came true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class Zygote(unittest.TestCase):
    def test_it_introduces_itself(self):
        self.assertEqual(host.hello["python"], sys.version.split()[0])
        self.assertGreaterEqual(host.hello["landlock"], 6)
        self.assertEqual(host.hello["missing"], [])

    def test_children_live_side_by_side(self):
        children = [host.fork() for _ in range(3)]
        for child in children:
            loaded = child.load("def kernel_function(x):\n    return x\n")
            self.assertEqual(loaded, {"entry": "kernel_function", "kernels": [], "observed": []})
        self.assertEqual(len({child.pid for child in children}), 3)
        for child in children:
            self.assertEqual(child.close(), {"pid": child.pid, "code": 0, "signal": None})

    def test_a_child_has_a_session_of_its_own_and_no_descriptor_of_others(self):
        child = host.candidate(
            """
            import os
            numbers = os.listdir("/proc/self/fd")  # with that of the folder, closed by now
            links = [f"/proc/self/fd/{number}" for number in numbers]
            names = [os.readlink(link) for link in links if os.path.lexists(link)]
            print(names, os.getsid(0) == os.getpid(), os.environ["HOME"], flush=True)
            def kernel_function(): pass
            """
        )
        said = (child.scratch / "stdout").read_text()
        self.assertIn(f"True {child.scratch}", said)
        self.assertEqual(said.count("socket:"), 1, said)
        self.assertNotIn("pipe:", said)
        child.close()

    def test_a_fork_without_a_socket_is_refused(self):
        with self.assertRaisesRegex(Refused, "descriptor"):
            host.line.ask("fork", scratch=str(host.folder))

    def test_what_it_does_not_know_is_refused_by_name(self):
        with self.assertRaisesRegex(Refused, "'dance'.*hello, fork"):
            host.line.ask("dance")


class Deaths(unittest.TestCase):
    def dies(self, source):
        child = host.fork()
        with self.assertRaises(Gone):
            child.load(source)
        return child.end()

    def test_a_candidate_that_ends_the_process(self):
        self.assertEqual(self.dies("import os; os._exit(3)")["code"], 3)

    def test_a_candidate_that_kills_itself(self):
        self.assertEqual(self.dies("import os; os.kill(os.getpid(), 9)")["signal"], 9)

    def test_a_candidate_that_crashes(self):
        crash = "import ctypes; ctypes.string_at(0)"
        self.assertEqual(self.dies(crash)["signal"], signal.SIGSEGV)

    def test_a_candidate_that_loops_is_killed_from_outside(self):
        child = host.fork()
        path = child.scratch / "candidate.py"
        path.write_text("open('started', 'w').close()\nwhile True: pass\n")
        fields = {"module": None, "sys_path": [], "origin": None, "entry_module": None, "entries": ["f"]}
        child.line.post("load", device="cpu", path=str(path), **fields)
        self.assertTrue(wait_until((child.scratch / "started").exists))
        os.kill(child.pid, signal.SIGKILL)
        self.assertEqual(child.end()["signal"], 9)

    def test_a_candidate_that_loops_ends_when_the_parent_hangs_up(self):
        child = host.fork()
        path = child.scratch / "candidate.py"
        path.write_text("open('started', 'w').close()\nwhile True: pass\n")
        fields = {"module": None, "sys_path": [], "origin": None, "entry_module": None, "entries": ["f"]}
        child.line.post("load", device="cpu", path=str(path), **fields)
        self.assertTrue(wait_until((child.scratch / "started").exists))
        self.assertIsNotNone(child.close())

    def test_what_a_child_leaves_behind_is_gone_when_its_end_is_told(self):
        child = host.candidate(
            """
            import os, time
            for depth in range(3):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                    with open(f"left-{depth}.new", "w") as file:
                        file.write(str(os.getpid()))
                    os.rename(f"left-{depth}.new", f"left-{depth}")
                    time.sleep(600)
            while not all(os.path.exists(f"left-{depth}") for depth in range(3)):
                time.sleep(0.01)
            def kernel_function(): pass
            """
        )
        left = [int((child.scratch / f"left-{depth}").read_text()) for depth in range(3)]
        self.assertTrue(all(map(alive, left)))
        child.close()
        self.assertEqual([pid for pid in left if alive(pid)], [])

    def test_nobody_survives_the_parent(self):
        parent = Host()
        children = [parent.candidate("def kernel_function(): pass") for _ in range(2)]
        parent.close()
        self.assertEqual(parent.process.returncode, 0)
        for child in children:
            child.line.close()
        self.assertEqual([child.pid for child in children if alive(child.pid)], [])

    def test_children_do_not_survive_a_killed_zygote(self):
        parent = Host()
        child = parent.candidate("def kernel_function(): pass")
        parent.process.kill()
        self.assertTrue(wait_until(lambda: not alive(child.pid)))
        child.line.close()
        parent.close()


class Imports(unittest.TestCase):
    def refusal(self, source, **load):
        child = host.fork()
        with self.assertRaises(Refused) as caught:
            child.load(source, **load)
        child.close()
        return caught.exception

    def test_an_error_names_its_line_in_the_candidate(self):
        refusal = self.refusal(
            """
            import math

            def half(x):
                return math.sqrt(x)

            HALF = half(-1)
            """
        )
        self.assertEqual((refusal.kind, refusal.line), ("import", 5))
        self.assertIn("ValueError", refusal.message)

    def test_a_syntax_error_names_its_line(self):
        refusal = self.refusal("x = 1\ndef broken(:\n")
        self.assertEqual((refusal.kind, refusal.line), ("import", 2))

    def test_leaving_at_import_is_an_error_like_another(self):
        refusal = self.refusal("import sys\nsys.exit('good bye')\n")
        self.assertEqual((refusal.kind, refusal.line), ("import", 2))
        self.assertIn("SystemExit: good bye", refusal.message)

    def test_a_missing_entry_says_what_is_called(self):
        refusal = self.refusal("x = 1", entries=["kernel_function", "ModelNew"])
        self.assertEqual(refusal.kind, "entry")
        self.assertIn("kernel_function or ModelNew", refusal.message)

    def test_a_long_message_is_cut(self):
        self.assertLessEqual(len(self.refusal("raise ValueError('x' * 100000)").message), 2000)

    def test_garbage_on_standard_output_is_no_answer(self):
        child = host.fork()
        loaded = child.load("print('{\"id\": 1, \"ok\": {}}' * 1000)\ndef kernel_function(): pass\n")
        self.assertEqual(loaded["entry"], "kernel_function")
        child.close()


class InTree(unittest.TestCase):
    def setUp(self):
        self.root = host.shared / "checkout"
        package = self.root / "shop" / "kernels"
        package.mkdir(parents=True, exist_ok=True)
        (self.root / "shop" / "__init__.py").write_text("")
        (package / "__init__.py").write_text("from . import tiled\n")
        (package / "sizes.py").write_text("BLOCK = 64\n")
        (package / "tiled.py").write_text("raise RuntimeError('the original was imported')\n")
        (self.root / "shop" / "ops.py").write_text("from .kernels.tiled import block\ndef op(): return block()\n")
        self.original = package / "tiled.py"

    def test_a_candidate_takes_the_place_of_its_module(self):
        child = host.fork()
        loaded = child.load(
            """
            import inspect
            import triton
            import triton.language as tl
            from .sizes import BLOCK

            @triton.jit
            def copy(x, y):
                tl.store(y, tl.load(x))

            def block():
                return BLOCK

            assert __name__ == "shop.kernels.tiled" and __file__.endswith("shop/kernels/tiled.py"), __file__
            assert "tl.store(y, tl.load(x))" in inspect.getsource(copy.fn)
            """,
            module="shop.kernels.tiled",
            sys_path=[str(self.root)],
            origin=str(self.original),
            entry_module="shop.ops",
            entries=["op"],
        )
        self.assertEqual(loaded, {"entry": "op", "kernels": ["copy"], "observed": []})
        child.close()

    def test_a_candidate_can_be_the_package_itself(self):
        child = host.fork()
        loaded = child.load(
            "from . import sizes\ndef op(): return sizes.BLOCK\n",
            module="shop.kernels",
            sys_path=[str(self.root)],
            origin=str(self.original.with_name("__init__.py")),
            entries=["op"],
        )
        self.assertEqual(loaded["entry"], "op")
        child.close()

    def test_the_name_of_a_library_is_refused(self):
        child = host.fork()
        with self.assertRaisesRegex(Refused, "cannot be replaced"):
            child.load("def op(): pass", module="torch.nn", entries=["op"])
        child.close()


if __name__ == "__main__":
    unittest.main()
