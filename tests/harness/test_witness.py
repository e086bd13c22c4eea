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

    def test_allocations_views_and_small_numbers_are_free(self):
        body = """
            def kernel_function(x):
                scale = torch.tensor([1.0, 2.0]) * 0.5
                y = torch.zeros_like(x).view(-1, 1).t().reshape(-1)
                return launch(x.contiguous(), y)
            """
        self.assertEqual(self.seen(body.replace("\n            ", "\n"), watched=True), [])


if __name__ == "__main__":
    unittest.main()
