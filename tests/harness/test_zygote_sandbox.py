"""What a candidate cannot do, each tried from inside one, with a control outside that can."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from zygote_host import FILE_BYTES, MEMORY_BYTES, OPEN_FILES, Case, Host, Refused  # noqa: E402

import torch  # noqa: E402

SECRET = "canary-5d1c"
host = outside = None


def setUpModule():
    global host, outside
    os.environ["KERNELBRAIN_TEST_TOKEN"] = SECRET
    host = Host()
    outside = pathlib.Path(tempfile.mkdtemp(prefix="kernelbrain-outside-"))
    (outside / "secret").write_text(SECRET)


def tearDownModule():
    host.close()
    shutil.rmtree(outside)


class Sandbox(unittest.TestCase):
    def barred(self, attempt, expected="PermissionError", control=True):
        """`attempt` is Python that fails when it is barred: in a candidate it does, outside it does not."""
        if control:
            ran = subprocess.run([sys.executable, "-c", attempt], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, f"the control fails too: {ran.stderr}")
        child = host.fork()
        with self.assertRaises(Refused, msg=attempt) as caught:
            child.load(attempt + "\ndef kernel_function(): pass\n")
        self.assertRegex(caught.exception.message, expected)
        child.close()
        return child


class Files(Sandbox):
    def test_its_scratch_is_its_own(self):
        child = host.candidate(
            """
            import os, tempfile
            with tempfile.NamedTemporaryFile("w") as file:
                file.write("mine")
                assert os.path.dirname(file.name) == os.environ["HOME"]
            os.mkdir("folder"), os.symlink("folder", "link"), os.rename("folder", "renamed"), os.rmdir("renamed")
            open("/dev/null", "w").write("nothing")
            def kernel_function(): pass
            """
        )
        child.close()

    def test_write_outside(self):
        for folder in (outside, "/tmp", "/var/tmp", "/dev/shm"):
            self.barred(f"open(r'{folder}/written-by-a-candidate', 'w').close()")
            (pathlib.Path(folder) / "written-by-a-candidate").unlink()
        self.barred(f"open(r'{outside}/secret', 'r+').truncate(8)")
        self.assertEqual((outside / "secret").read_text(), SECRET[:8])
        (outside / "secret").write_text(SECRET)
        self.barred(f"import os; os.mkdir(r'{outside}/folder' + str(os.getpid()))")

    def test_write_to_another_childs_scratch(self):
        other = host.fork()
        self.barred(f"open(r'{other.scratch}/planted', 'w').close()")
        other.close()

    def test_shared_buffers_are_written_in_place_and_nothing_else(self):
        buffer = host.shared / "buffer"
        buffer.write_bytes(b"12345678")
        child = host.candidate(
            f"""
            import mmap
            with open(r"{buffer}", "r+b") as file:
                mmap.mmap(file.fileno(), 8)[0:1] = b"9"
            def kernel_function(): pass
            """
        )
        child.close()
        self.assertEqual(buffer.read_bytes(), b"92345678")
        for attempt in (f"open(r'{buffer}', 'r+b').truncate(0)", f"import os; os.unlink(r'{buffer}')",
                        f"open(r'{host.shared}/another', 'w').close()"):
            self.barred(attempt, control=False)
        self.assertEqual(buffer.read_bytes(), b"92345678")
        buffer.unlink()

    def test_write_to_the_interpreter(self):
        self.barred(f"open(r'{sys.prefix}/planted', 'w').close()")
        (pathlib.Path(sys.prefix) / "planted").unlink()

    def test_read_secrets(self):
        self.barred(f"assert open(r'{outside}/secret').read() == '{SECRET}'")
        self.barred("import os; os.listdir('/')")
        self.barred("import os; os.listdir(r'%s')" % pathlib.Path.home())
        self.barred("open('/etc/hosts').read()")

    def test_the_way_out_by_proc(self):
        # Opened for writing and not written: nothing is to change where the test is run as root.
        name = "/proc/sys/kernel/core_pattern"
        self.barred(f"import os; os.close(os.open('{name}', os.O_WRONLY))", control=os.access(name, os.W_OK))

    def test_device_nodes_in_the_scratch(self):
        make = "import os, tempfile; os.mknod(tempfile.mkdtemp() + '/disk', 0o60600, os.makedev(7, 0))"
        self.barred(make, control=os.geteuid() == 0)

    def test_a_huge_file(self):
        attempt = f"import tempfile; tempfile.TemporaryFile().truncate({FILE_BYTES + 1})"
        self.barred(attempt, "OSError.*[Ll]arge")

    def test_too_many_files(self):
        self.barred(f"files = [open('/dev/null') for _ in range({OPEN_FILES})]", "OSError.*[Tt]oo many open files")

    def test_limits_cannot_be_raised(self):
        for name in ("NOFILE", "FSIZE", "DATA", "CORE"):
            self.barred(
                f"import resource as r; _, hard = r.getrlimit(r.RLIMIT_{name})\n"
                f"assert hard != r.RLIM_INFINITY; r.setrlimit(r.RLIMIT_{name}, (hard + 1, hard + 1))",
                "ValueError|AssertionError|PermissionError",
                control=False,
            )


class Network(Sandbox):
    def setUp(self):
        import socket

        self.server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.server.close)
        self.port = self.server.getsockname()[1]

    def test_tcp_connect(self):
        self.barred(f"import socket; socket.create_connection(('127.0.0.1', {self.port}), 5)")

    def test_tcp_listen(self):
        self.barred("import socket; socket.create_server(('127.0.0.1', 0))")

    def test_udp(self):
        send = "import socket; s = socket.socket({}, socket.SOCK_DGRAM); s.sendto(b'beacon', ('{}', 9))"
        self.barred(send.format("socket.AF_INET", "127.0.0.1"))
        self.barred("import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)")

    def test_netlink(self):
        self.barred("import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)")

    def test_abstract_sockets_of_others(self):
        import socket

        name = f"kernelbrain-{os.getpid()}"
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(f"\0{name}")
        server.listen()
        self.barred(f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')")


class Processes(Sandbox):
    def test_execute(self):
        self.barred("import subprocess; subprocess.run(['/bin/sh', '-c', 'true'], check=True)")
        self.barred("import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)")
        if curl := shutil.which("curl"):
            self.barred(f"import subprocess; subprocess.run([r'{curl}', '--version'], check=True, capture_output=True)")

    def test_execute_what_it_wrote_itself(self):
        self.barred(
            "import os, subprocess, tempfile\n"
            "path = tempfile.mkdtemp() + '/program'\n"
            "with open(path, 'w') as file: file.write('#!/bin/sh\\n')\n"
            "os.chmod(path, 0o700); subprocess.run([path], check=True)"
        )

    def test_execute_by_the_dynamic_loader(self):
        loaders = [path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path)]
        for loader in loaders:
            self.barred(f"import subprocess; subprocess.run(['{loader}', '/bin/true'], check=True)", "CalledProcessError")

    def test_the_c_compiler_runs(self):
        child = host.candidate(
            """
            import subprocess
            with open("one.c", "w") as file:
                file.write("#include <stdlib.h>\\nint one(void) { return abs(-1); }")
            subprocess.run(["gcc", "-O3", "-shared", "-fPIC", "one.c", "-o", "one.so"], check=True)
            import ctypes
            assert ctypes.CDLL("./one.so").one() == 1
            def kernel_function(): pass
            """
        )
        child.close()

    def test_signal_the_zygote(self):
        self.barred(f"import os; os.kill({host.process.pid}, 0)")
        self.barred(f"import os; os.kill({os.getpid()}, 0)")
        self.assertIsNone(host.process.poll())

    def test_limits_of_the_zygote(self):
        self.barred(f"import resource as r; r.prlimit({host.process.pid}, r.RLIMIT_NOFILE)")

    def test_trace_the_zygote(self):
        attach, detach = 0x4206, 17  # PTRACE_SEIZE, PTRACE_DETACH
        self.barred(
            "import ctypes, os; c = ctypes.CDLL(None, use_errno=True)\n"
            f"if c.ptrace({attach}, {host.process.pid}, None, None): raise OSError(ctypes.get_errno(), 'ptrace')\n"
            f"c.ptrace({detach}, {host.process.pid}, None, None)",
            control=os.geteuid() == 0,
        )

    def test_read_the_memory_of_the_zygote(self):
        self.barred(f"open('/proc/{host.process.pid}/mem', 'rb').close()", control=os.geteuid() == 0)
        self.barred(f"open('/proc/{host.process.pid}/maps').read()", control=os.geteuid() == 0)


class Environment(Sandbox):
    def test_the_parents_secrets_are_not_there(self):
        self.barred(f"import os; assert os.environ['KERNELBRAIN_TEST_TOKEN'] == '{SECRET}'", "KeyError")
        self.barred(f"open('/proc/{os.getpid()}/environ').read()")
        self.barred(f"open('/proc/{host.process.pid}/environ').read()")

    def test_it_is_killed_first_when_memory_runs_out(self):
        child = host.candidate("def kernel_function(): pass")
        self.assertEqual(pathlib.Path(f"/proc/{child.pid}/oom_score_adj").read_text().strip(), "1000")
        child.close()


class Memory(Sandbox):
    def test_a_memory_hog(self):
        hog = MEMORY_BYTES * 11 // 10
        self.barred(f"hog = bytearray({hog})", "MemoryError")
        self.barred(f"import mmap; hog = mmap.mmap(-1, {hog}, mmap.MAP_PRIVATE)", "OSError")
        self.barred(f"hog = [bytearray(1 << 20) for _ in range({hog >> 20})]", "MemoryError", control=False)

    def test_what_is_left_is_enough_for_a_call(self):
        x = torch.ones(1 << 20)
        child = host.candidate("def kernel_function(x): return (x.repeat(50) + 1)[:x.numel()].clone()")
        case = Case(host, [x], [x])
        case.run(child)
        self.assertTrue((case.read(case.outputs[0]) == 2).all())
        child.close()


class BestEffort(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "src" / "evaluate" / "harness"))
        self.addCleanup(sys.path.pop, 0)
        import confine

        self.confine = confine
        self.addCleanup(setattr, confine, "landlock_abi", confine.landlock_abi)

    def test_an_old_kernel_is_refused_and_said_why(self):
        settings = {"seccomp": "00", "best_effort": False}
        self.confine.landlock_abi = lambda: 4
        with self.assertRaisesRegex(self.confine.Unconfined, "sent signals.*6.12"):
            self.confine.require(settings)
        self.confine.landlock_abi = lambda: 0
        missing = self.confine.require({"seccomp": "", "best_effort": True})
        self.assertEqual([sentence.split()[0] for sentence in missing], ["files", "other", "the"])


if __name__ == "__main__":
    unittest.main()
