"""What a candidate does to its own process besides answering, and how its outputs behave."""

import unittest

import torch
from zygote_host import Case, Host, Refused

HEAD = """
import functools
import torch
import triton
import triton.language as tl

@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

def launch(x, y):
    twice[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""


def setUpModule():
    global host
    host = Host()


def tearDownModule():
    host.close()


class Witnessed(unittest.TestCase):
    def seen(self, body, calls=2, **how):
        """What is observed of a candidate: (words, line within `body`), at its import and in its calls."""
        child = host.fork()
        found = child.load(HEAD + body)["observed"]
        x = torch.randn(300)
        case = Case(host, [x], [x])
        for _ in range(calls):
            found += child.ask("run", inputs=case.request(), call=CALL, **how)["observed"]
        child.close()
        before = HEAD.count("\n")
        return [(one["what"], one["line"] and one["line"] - before) for one in found]

    def assert_seen(self, body, words, line=None):
        found = self.seen(body)
        self.assertIn((words, line), [(what[: len(words)], at) for what, at in found], found)

    def assert_nothing_seen(self, body):
        self.assertEqual(self.seen(body), [])


CALL = {"kind": "native", "mutates": [], "grads": []}
HONEST = "def kernel_function(x): return launch(x, torch.empty_like(x))\n"


class Process(Witnessed):
    def test_an_honest_kernel_with_a_cache_of_its_launches(self):
        self.assert_nothing_seen(
            """
            import collections, dataclasses
            Plan = collections.namedtuple("Plan", "block warps")

            @dataclasses.dataclass
            class Shape:
                n: int

            @functools.lru_cache
            def plan(n): return Plan(64, 4)

            def kernel_function(x):
                plan(Shape(x.numel()).n)
                return launch(x.contiguous(), x.new_empty(x.shape))
            """.replace("\n            ", "\n")
        )

    def test_functions_that_are_replaced(self):
        self.assert_seen("torch.allclose = lambda *_, **__: True\n" + HONEST, "replaced torch.allclose")
        self.assert_seen("torch.Tensor.softmax = lambda *_: None\n" + HONEST, "replaced torch.Tensor.softmax")
        self.assert_seen("import time\ntime.perf_counter = lambda: 0.0\n" + HONEST, "replaced time.perf_counter")
        elapsed = "torch.cuda.Event.elapsed_time = lambda *_: 0.0\n"
        self.assert_seen(elapsed + HONEST, "replaced torch.cuda.Event.elapsed_time")

    def test_settings_that_are_changed_in_a_call(self):
        for change, words in (
            ("torch.set_grad_enabled(True)", "changed torch's gradient mode from False to True"),
            ("torch.set_default_dtype(torch.float64)", "changed torch's default dtype"),
            ("torch.set_num_threads(torch.get_num_threads() + 1)", "changed torch's number of threads"),
            ("torch.manual_seed(7)", "changed torch's seed"),
            ("import os; os.environ['FAST'] = '1'", "changed the environment variable FAST"),
        ):
            self.assert_seen(HONEST.replace("x): return", f"x):\n    {change}\n    return"), words)

    def test_what_it_starts_opens_and_searches_is_told_with_its_line(self):
        for action, words in (
            ("import os, sys\n    os.fork() or os._exit(0)", "starts a process"),
            ("import subprocess\n    subprocess.run(['true'], check=False)", "starts a process"),
            ("import socket\n    socket.socket()", "uses a network socket"),
            ("import gc\n    gc.get_objects()", "searches the objects of its process"),
            ("import sys\n    sys._getframe(1)", "walks the stack of its callers"),
            ("import inspect\n    inspect.currentframe()", "walks the stack of its callers"),
            ("import ctypes\n    ctypes.CDLL(None)", "reaches native code through ctypes"),
            ("import tempfile\n    tempfile.TemporaryFile()", "opens the file"),
        ):
            guarded = action.replace("\n    ", "\n    try: ") + "\n    except OSError: pass"
            self.assert_seen(HONEST.replace("x): return", f"x):\n    {guarded}\n    return"), words, line=3)

    def test_code_that_was_made_of_text_is_the_candidates(self):
        for action, words in (
            ("import os; os.listdir('.')", "lists the folder ."),
            ("import tempfile; tempfile.TemporaryFile()", "opens the file"),
            ("import sys; sys._getframe(1)", "walks the stack of its callers"),
        ):
            body = HONEST.replace("x): return", f"x):\n    exec({action!r}, {{}})\n    return")
            self.assert_seen(body, "runs text as code", line=2)
            self.assert_seen(body, words, line=2)
        # Through a function of Python's that runs what it is given.
        body = "import timeit\ndef kernel_function(x):\n    timeit.timeit('1', number=1)\n    return launch(x, x + 0)\n"
        self.assert_seen(body, "runs text as code", line=3)

    def test_frames_and_functions_that_others_hand_on(self):
        failing = "try: 1 / 0\n    except ZeroDivisionError as error: "
        for action, words in (
            (failing + "list(__import__('traceback').walk_tb(error.__traceback__))", "reads the attribute tb_frame"),
            (failing + "error.__traceback__.tb_frame", "reads the attribute tb_frame"),
            ("import logging; logging.currentframe()", "walks the stack of its callers"),
            ("import os; os.popen('true')", "starts a process"),
            ("import functools; functools.update_wrapper(launch, setUp, ('__code__',), ())", "changes the attribute"),
            ("torch.load('/proc/self/maps')", "opens the file /proc/self/maps"),
        ):
            body = "def setUp(x, y): return y\ndef kernel_function(x):\n    try:\n        "
            body += action.replace("\n", "\n    ")
            body += "\n    except Exception: pass\n    return x.new_empty(x.shape)\n"
            seen = [(what[: len(words)], line is not None) for what, line in self.seen(body, calls=1)]
            self.assertIn((words, True), seen, action)

    def test_what_libraries_do_for_an_honest_kernel(self):
        self.assert_nothing_seen(
            """
            import abc, collections, contextlib, dataclasses, enum, functools, logging, math, traceback, typing
            log = logging.getLogger("kernel")
            Plan = collections.namedtuple("Plan", "block warps", defaults=(4,))
            Kind = enum.Enum("Kind", "row column")
            T = typing.TypeVar("T")

            class Pair(typing.NamedTuple):
                first: int
                second: "int" = 2

            class Launcher(abc.ABC):
                @abc.abstractmethod
                def go(self, x: T) -> T: ...

            @dataclasses.dataclass(frozen=True, slots=True)
            class Row(Launcher):
                plan: Plan = dataclasses.field(default_factory=lambda: Plan(64))

                def go(self, x):
                    log.debug("launching %s", self.plan)
                    return launch(x, torch.empty_like(x))

            @functools.singledispatch
            def block(x: "int"): return 64

            @block.register
            def _(x: float): return 32

            @contextlib.contextmanager
            def scope(): yield Row()

            def kernel_function(x):
                typing.get_type_hints(Pair), block(1), Pair(1), Kind.row
                try:
                    math.sqrt(-1)
                except ValueError:
                    traceback.format_exc()
                with scope() as row:
                    return row.go(x)
            """.replace("\n            ", "\n")
        )

    def test_the_harness_is_not_found_by_name(self):
        body = "import sys\nfound = [n for n in sys.modules if 'harness' in n] + list(vars(sys.modules['__main__']))\n"
        body += "def kernel_function(x): raise ValueError([n for n in found if not n.startswith('__')])\n"
        with self.assertRaisesRegex(Refused, r"ValueError: \[\]"):
            self.seen(body)

    def test_methods_of_the_harness_that_are_replaced(self):
        """Found through the loader of its own module, or by way of the launches' hook."""
        reach = "import sys, triton.runtime.interpreter as interpreter\ndone = []\ndef reach():\n"
        reach += "    return type(__loader__).exec_module.__globals__\n"
        for change, words in (
            ("type(__loader__).exec_module = lambda *_: None", "_Loader.exec_module"),
            ("reach()['Failure'].encode = lambda self: {}", "wire.Failure.encode"),
            ("reach()['Failure'].__getattr__ = lambda *_: 0", "wire.Failure.__getattr__"),
            ("reach()['STANDALONE'] = 'nothing'", "loading.STANDALONE"),
            ("interpreter.GridExecutor.__call__.__globals__['Launches']._add = id", "launches.Launches._add"),
        ):
            body = reach + HONEST.replace("x): return", f"x):\n    {change}\n    return")
            seen = [what for what, _ in self.seen(body, calls=1)]
            self.assertTrue(any(what.startswith("replaced kernelbrain_harness") and words in what for what in seen), seen)

    def test_a_thread(self):
        body = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        self.assert_seen(body + HONEST, "changed the number of Python threads from")


class Outputs(Witnessed):
    def test_memory_that_is_returned_again(self):
        body = "kept = {}\ndef kernel_function(x):\n    return launch(x, kept.setdefault(0, torch.empty_like(x)))\n"
        self.assert_seen(body, "returned the same memory as output 0 of two calls")

    def test_buffers_that_take_turns(self):
        body = "kept = [torch.empty(300) for _ in range(4)]\nturn = [0]\n"
        body += "def kernel_function(x):\n    turn[0] += 1\n    return launch(x, kept[turn[0] % 4])\n"
        self.assertEqual(self.seen(body, calls=4), [])
        self.assertIn("returned the same memory", self.seen(body, calls=5)[0][0])

    def test_an_earlier_output_that_is_written_to(self):
        body = "kept = []\ndef kernel_function(x):\n    kept.append(torch.empty_like(x))\n    launch(x * 3, kept[0])\n"
        self.assert_seen(body + "    return launch(x, kept[-1])\n", "wrote into an output of an earlier call")
        self.assert_nothing_seen(body.replace("kept[0]", "torch.empty_like(x)") + "    return launch(x, kept.pop())\n")

    def test_gradients_that_are_switched_on_for_the_inputs(self):
        body = "def kernel_function(x):\n    y = launch(x, torch.empty_like(x))\n    x.requires_grad_()\n    return y\n"
        self.assert_seen(body, "changed requires_grad of input tensor 0 from False to True")

    def test_a_tuple_that_computes_when_it_is_looked_at(self):
        body = "class Later(tuple):\n    def __iter__(self): return iter([launch(self[0], torch.empty_like(self[0]))])\n"
        with self.assertRaisesRegex(Refused, "integrity: .*Later, which is no plain tuple"):
            self.seen(body + "def kernel_function(x): return Later([x])\n")


class Operators(Witnessed):
    def test_arithmetic_of_torch_is_noticed_where_it_is_asked_for(self):
        body = "def kernel_function(x):\n    y = x * 2\n    launch(x, torch.empty_like(x))\n    return y\n"
        self.assertEqual(self.seen(body), [])
        told = ("computes with torch's operator mul outside its Triton kernels", 2)
        self.assertEqual(self.seen(body, calls=1, watched=True), [told])

    def assert_computes(self, body, operator, line, calls=1):
        """Told of the candidate, with or without a line of it."""
        told = (f"computes with torch's operator {operator} outside its Triton kernels", line)
        found = self.seen(body, calls=calls, watched=True)
        self.assertIn(told, found)

    def test_whatever_lies_between_the_candidate_and_the_operator(self):
        call = "def kernel_function(x):\n    return launch({}, torch.empty_like(x))\n"
        for expression, operator in (
            ("functools.singledispatch(lambda y: y)(x) * 3", "mul"),
            ("functools.singledispatch(__import__('operator').mul)(x, 3.0)", "mul"),
            ("triton.cdiv(x, 128)", "floor_divide"),
            ("functools.reduce(torch.add, [x, x])", "add"),
            ("eval('x * 2')", "mul"),
            ("torch.nn.functional.softmax(x, -1)", "_softmax"),
        ):
            with self.subTest(expression):
                self.assert_computes(call.format(expression), operator, 2)
        body = """
            import dataclasses
            @dataclasses.dataclass
            class Box:
                value: object = dataclasses.field(default_factory=lambda: None)
            def kernel_function(x):
                Box.__init__.__defaults__[0]
                return launch(x, torch.empty_like(x))
            """.replace("\n            ", "\n")
        body = body.replace("Box.__init__.__defaults__[0]", "work = functools.partial(x.softmax, -1)\n"
                            "    class Soft(Box): pass\n"
                            "    dataclasses.make_dataclass('Soft', [('value', object, dataclasses.field(default_factory=work))])()")
        self.assert_computes(body, "_softmax", 9)

    def test_many_small_pieces_are_work(self):
        body = """
            def kernel_function(x):
                y = torch.empty_like(x)
                for at in range(0, x.numel(), 2):
                    y[at : at + 2] = x[at : at + 2] * 2
                return launch(y, torch.empty_like(x))
            """.replace("\n            ", "\n")
        words = "computes in many small pieces, with torch's operator mul among others, outside its Triton kernels"
        self.assertEqual(self.seen(body, calls=1, watched=True), [(words, 5)])
        self.assertEqual(self.seen(body.replace("0, x.numel(), 2", "0, 16, 2"), calls=1, watched=True), [])

    def test_what_triton_does_with_tensors_by_itself(self):
        body = """
            tuned = triton.autotune(
                [triton.Config({"BLOCK": 64}, pre_hook=lambda given: given["y"].zero_()), triton.Config({"BLOCK": 32})],
                key=["n"], restore_value=["x"], reset_to_zero=["y"],
            )(twice)
            def kernel_function(x):
                y = torch.empty_like(x)
                tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
                return y
            """.replace("\n            ", "\n")
        self.assertEqual(self.seen(body, watched=True), [])

    def test_the_autotuners_own_copies(self):
        """As on a GPU, where it measures; here with a clock that needs none."""
        body = """
            from triton.runtime.autotuner import Autotuner
            class Tuner(Autotuner): pass
            def measure(call, quantiles): call(); return [1.0, 1.0, 1.0]
            tuned = Tuner(twice, ["x", "y", "n", "BLOCK"], [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})],
                          ["n"], ["y"], ["x"], do_bench=measure)
            def kernel_function(x):
                y = torch.empty_like(x)
                tuned.nargs = {"x": x, "y": y, "n": x.numel()}
                tuned._bench(x, y, x.numel(), config=tuned.configs[1], grid=(10,), warmup=False)
                return launch(x, y)
            """.replace("\n            ", "\n")
        self.assertEqual(self.seen(body, watched=True), [])

    def test_what_is_done_for_every_launch_counts_once_where_the_autotuner_measures(self):
        body = """
            from triton.runtime.autotuner import Autotuner
            def measure(call, quantiles):
                for _ in range(100): call()
                return [1.0, 1.0, 1.0]
            tuned = Autotuner(twice, ["x", "y", "n", "BLOCK"], [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})],
                              ["n"], None, None, do_bench=measure)
            programs = torch.tensor([5])
            def kernel_function(x):
                y = torch.empty_like(x)
                tuned.nargs = {"x": x, "y": y, "n": x.numel()}
                LOOP
                    tuned._bench(x, y, x.numel(), config=tuned.configs[1], grid=lambda meta: (int(programs * 2),), warmup=False)
                return launch(x, y)
            """.replace("\n            ", "\n")
        self.assertEqual(self.seen(body.replace("LOOP", "if True:"), calls=1, watched=True), [])
        by_itself = body.replace("tuned._bench(x, y, x.numel(), config=tuned.configs[1], grid=lambda meta: (int(programs * 2),), warmup=False)", "int(programs * 2)")
        words = "computes in many small pieces, with torch's operator mul among others, outside its Triton kernels"
        self.assertEqual(self.seen(by_itself.replace("LOOP", "for _ in range(100):"), calls=1, watched=True), [(words, 13)])

    def test_allocations_views_and_small_numbers_are_free(self):
        body = """
            def kernel_function(x):
                scale = torch.tensor([1.0, 2.0]) * 0.5
                y = torch.zeros_like(x).view(-1, 1).t().reshape(-1)
                return launch(x.contiguous(), y)
            """
        self.assertEqual(self.seen(body.replace("\n            ", "\n"), watched=True), [])


class Backward(Witnessed):
    BODY = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return launch(x.contiguous(), torch.empty_like(x))

    @staticmethod
    def backward(ctx, dy):
        return launch(dy.contiguous(), torch.empty_like(dy))

def kernel_function(x): return Twice.apply(x)
"""

    def seen(self, body, **how):
        child = host.fork()
        self.addCleanup(child.close)
        child.load(HEAD + body)
        x = torch.randn(300, requires_grad=True)
        case = Case(host, [x], [x.detach()], cotangents=[torch.randn(300)], gradients=[x.detach()])
        ran = child.ask("run", inputs=case.request(), call={**CALL, "grads": [0]}, **how)
        self.assertIsNotNone(ran["gradients"][0])
        return [(one["what"], one["line"] and one["line"] - HEAD.count("\n")) for one in ran["observed"]]

    def test_an_honest_one(self):
        self.assertEqual(self.seen(self.BODY, watched=True), [])
        # A gradient that two graphs add to is added up by torch.
        self.assertEqual(self.seen(self.BODY.replace("Twice.apply(x)", "Twice.apply(Twice.apply(x))"), watched=True), [])

    def test_operators_are_noticed(self):
        body = self.BODY.replace("return launch(dy", "return 2 * dy + 0 * launch(dy")
        told = [(f"computes with torch's operator {name} outside its Triton kernels", 8) for name in ("mul", "add")]
        self.assertEqual(self.seen(body, watched=True), told)
        self.assertEqual(self.seen(body), [])

    def test_in_code_that_was_made_of_text_too(self):
        body = self.BODY + "exec('def back(ctx, dy): return 2 * dy', made := {})\nTwice.backward = staticmethod(made['back'])\n"
        told = ("computes with torch's operator mul outside its Triton kernels", None)
        self.assertEqual(self.seen(body, watched=True), [told])

    def test_settings_and_files_are_noticed(self):
        body = self.BODY.replace("ctx, dy):\n", "ctx, dy):\n        import os; os.listdir('.'); torch.set_num_threads(7)\n")
        found = [what for what, _ in self.seen(body)]
        self.assertEqual(found[0], "lists the folder .")
        self.assertRegex(found[1], "^changed torch's number of threads")


if __name__ == "__main__":
    unittest.main()
