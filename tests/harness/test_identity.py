"""When two candidates are the same program."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import conversation  # noqa: E402, F401 (makes the harness importable)
from kernelbrain_harness import identity  # noqa: E402

HOST = '''
"""A kernel."""
import torch, triton
import triton.language as tl

SCALE = 2

@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)

def kernel_function(x):
    # Where it starts.
    y = torch.empty_like(x)
    size, chunk = x.numel(), 7
    BLOCK = 256
    grid = (triton.cdiv(size, BLOCK),)
    scale[grid](x, y, size, 2.0, BLOCK=BLOCK, num_warps=4)
    return y.view(-1)[:chunk]
'''


class HostSource(unittest.TestCase):
    def same(self, *changes, host=HOST):
        text = host
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        return identity.host_source(host) == identity.host_source(text)

    def test_comments_layout_and_docstrings_leave_no_trace(self):
        self.assertTrue(self.same(("    # Where it starts.\n", "\n\n"), ('"""A kernel."""', '"""Another."""')))

    def test_a_kernels_body_is_seen_in_its_binary_alone(self):
        self.assertTrue(self.same(("mask=at < n) * factor", "mask=at < n, other=0.0) * factor"), (": tl.constexpr", "")))
        self.assertFalse(self.same(("def scale(x, y, n", "def scale(y, x, n")))
        self.assertFalse(self.same(("@triton.jit", "@triton.jit(debug=True)")))

    def test_constants_that_reach_launches_alone_are_seen_in_the_launches(self):
        self.assertTrue(self.same(("BLOCK = 256", "BLOCK = 512")))
        self.assertTrue(self.same(("num_warps=4", "num_warps=8, num_stages=3")))
        self.assertTrue(self.same((", num_warps=4", "")))
        lazily = HOST.replace("(triton.cdiv(size, BLOCK),)", "lambda meta: (triton.cdiv(size, BLOCK),)")
        self.assertTrue(self.same(("BLOCK = 256", "BLOCK = 512"), host=lazily))

    def test_constants_that_reach_anything_else_count(self):
        self.assertFalse(self.same(("chunk = x.numel(), 7", "chunk = x.numel(), 8")))
        self.assertFalse(self.same(("SCALE = 2", "SCALE = 3")))
        used = HOST.replace("return y.view(-1)[:chunk]", "return y[:BLOCK]")
        self.assertFalse(self.same(("BLOCK = 256", "BLOCK = 512"), host=used))
        stored = HOST.replace("BLOCK = 256", "BLOCK = 256\n    STATE.append(BLOCK)")
        self.assertFalse(self.same(("BLOCK = 256", "BLOCK = 512"), host=stored))
        again = HOST.replace("BLOCK = 256", "BLOCK = 256\n    if x.numel() > 9: BLOCK = 64")
        self.assertFalse(self.same(("BLOCK = 64", "BLOCK = 32"), host=again))
        filled = HOST.replace("y = torch.empty_like(x)", "y = torch.full_like(x, 1)\n    SPLIT = 4\n    part = torch.full((4,), SPLIT)")
        filled = filled.replace("scale[grid](x, y,", "scale[grid](part, y,")
        self.assertFalse(self.same(("SPLIT = 4", "SPLIT = 5"), host=filled))

    def test_buffers_that_change_places_are_another_program(self):
        swapped = HOST.replace("2.0, BLOCK=BLOCK", "factor=2.0, BLOCK=BLOCK").replace("x, y, size,", "x=x, y=y, n=size,")
        self.assertFalse(self.same(("x=x, y=y", "x=y, y=x"), host=swapped))
        self.assertTrue(self.same(("factor=2.0", "factor=3.0"), host=swapped))  # the launches show the scalar

    def test_a_kernel_reached_by_another_name_keeps_its_constants(self):
        hidden = HOST.replace("scale[grid]", "alias[grid]").replace("SCALE = 2", "alias = None")
        self.assertFalse(self.same(("num_warps=4", "num_warps=8"), host=hidden))


class Source(unittest.TestCase):
    def test_in_the_interpreter_everything_but_layout_counts(self):
        self.assertEqual(identity.source(HOST), identity.source(HOST.replace("# Where it starts.", "# There.\n")))
        for old, new in (("BLOCK = 256", "BLOCK = 512"), ("* factor", "+ factor"), ("num_warps=4", "num_warps=8")):
            self.assertNotEqual(identity.source(HOST), identity.source(HOST.replace(old, new)))


if __name__ == "__main__":
    unittest.main()
