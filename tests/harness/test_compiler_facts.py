"""What the prompt tells a model about memory accesses and products (src/generate/prompt/templates/system.md) is so, in the
code that Triton makes for compute capability 9.0."""
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HOPPER = GPUTarget("cuda", 90, 32)
WIDE = "ld.global.v4.b32"
AHEAD = "cp.async"
SCALAR = "ld.global.b16"

KERNELS = """
import triton
import triton.language as tl


@triton.jit
def rows(x, y, cols, MODE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    if MODE == "range":
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            total += tl.load(x + row + at, mask=at < cols, other=0.0).to(tl.float32)
    if MODE == "tl.range":
        for start in tl.range(0, cols, BLOCK, num_stages=4):
            at = start + tl.arange(0, BLOCK)
            total += tl.load(x + row + at, mask=at < cols, other=0.0).to(tl.float32)
    if MODE == "shifted":
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            total += tl.load(x + row + at - 1, mask=at < cols, other=0.0).to(tl.float32)
    if MODE == "bounded inside":
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            total += tl.load(x + row + at, mask=(at < cols) & (at > 0), other=0.0).to(tl.float32)
    tl.store(y + tl.program_id(0), tl.sum(total))


@triton.jit
def product(a, b, c, depth, MODE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, col = tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    if MODE == "while":
        start = 0
        while start < depth:
            at = start + tl.arange(0, BK)
            left = tl.load(a + row[:, None] * depth + at[None, :])
            right = tl.load(b + at[:, None] * BN + col[None, :])
            acc = tl.dot(left, right, acc)
            start += BK
    elif MODE == "static_range":
        for start in tl.static_range(0, 256, BK):
            at = start + tl.arange(0, BK)
            left = tl.load(a + row[:, None] * depth + at[None, :])
            right = tl.load(b + at[:, None] * BN + col[None, :])
            acc = tl.dot(left, right, acc)
    else:
        for start in range(0, depth, BK):
            at = start + tl.arange(0, BK)
            left = tl.load(a + row[:, None] * depth + at[None, :])
            if MODE == "turned as loaded":
                right = tl.trans(tl.load(b + col[:, None] * depth + at[None, :]))
            else:
                right = tl.load(b + at[:, None] * BN + col[None, :])
            if MODE == "left computed":
                left = (left.to(tl.float32) * 2.0).to(tl.bfloat16)
            if MODE == "right computed":
                right = (right.to(tl.float32) * 2.0).to(tl.bfloat16)
            if MODE == "left selected by indexes":
                left = tl.where(row[:, None] < depth, left, 0.0)
            if MODE == "left selected by values":
                left = tl.where(left > 0.0, left, 0.0)
            if MODE == "left of a product":
                left = tl.dot(left, tl.trans(right)).to(tl.bfloat16)
            acc = tl.dot(left, right, acc)
    tl.store(c + row[:, None] * BN + col[None, :], acc.to(c.dtype.element_ty))
"""


def setUpModule():
    global kernels, folder
    folder = tempfile.TemporaryDirectory()
    cache = mock.patch.dict(os.environ, {"TRITON_CACHE_DIR": folder.name})
    cache.start()
    unittest.addModuleCleanup(cache.stop)
    path = pathlib.Path(folder.name) / "kernels.py"
    path.write_text(KERNELS)
    spec = importlib.util.spec_from_file_location("kernels", path)
    kernels = importlib.util.module_from_spec(spec)
    # Another test of this process may have turned the interpreter on.
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = False
        spec.loader.exec_module(kernels)


def tearDownModule():
    folder.cleanup()


def compiled(kernel, pointers, size, constants, dtype="bf16", **options):
    """PTX; pointers are aligned as torch's are, and `size` is known as a launch would know it."""
    names = kernel.arg_names
    signature = {name: "constexpr" if name in constants else f"*{dtype}" if name in pointers else "i32" for name in names}
    aligned = [name for name in names if name in pointers or (name not in constants and size % 16 == 0)]
    source = ASTSource(
        kernel, signature, constexprs={(names.index(name),): value for name, value in constants.items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
    return triton.compile(source, target=HOPPER, options=options).asm["ptx"]


def rows(mode, cols, **options):
    return compiled(kernels.rows, ("x", "y"), cols, {"MODE": mode, "BLOCK": 1024}, **options)


def rows_of_a_constexpr(mode, cols):
    return compiled(kernels.rows, ("x", "y"), cols, {"MODE": mode, "BLOCK": 1024, "cols": cols})


def product(mode="range", bm=128, bn=128, warps=8, **options):
    constants = {"MODE": mode, "BM": bm, "BN": bn, "BK": 64}
    return compiled(kernels.product, ("a", "b", "c"), 1024, constants, num_warps=warps, num_stages=3, **options)


def bytes_ahead(ptx):
    """How much each asynchronous copy moves."""
    return {int(size, 16) for size in re.findall(r"cp\.async\.c[ag]\.shared\.global \[[^]]*\], \[[^]]*\], 0x([0-9a-f]+)", ptx)}


class WideAccesses(unittest.TestCase):
    def test_aligned_rows_are_read_in_words(self):
        self.assertIn(WIDE, rows("range", 4096))

    def test_what_is_not_proven_is_read_element_by_element(self):
        for mode, cols in [("range", 1030), ("range", 1032), ("shifted", 4096), ("bounded inside", 4096)]:
            with self.subTest(mode, cols=cols):
                ptx = rows(mode, cols)
                self.assertIn(SCALAR, ptx)
                self.assertNotIn(WIDE, ptx)

    def test_a_constexpr_counts_as_it_is(self):
        for cols, size in [(1032, 16), (1028, 8), (1030, 4)]:
            with self.subTest(cols=cols):
                self.assertEqual(bytes_ahead(rows_of_a_constexpr("tl.range", cols)), {size})


class RunningAhead(unittest.TestCase):
    def test_without_a_product_it_takes_a_range_that_says_so(self):
        self.assertNotIn(AHEAD, rows("range", 4096, num_stages=4))
        self.assertEqual(bytes_ahead(rows("tl.range", 4096)), {16})

    def test_what_feeds_a_product_runs_ahead_in_a_range_only(self):
        self.assertEqual(bytes_ahead(product()), {16})
        self.assertNotIn(AHEAD, product("while"))
        self.assertNotIn(AHEAD, product("static_range"))

    def test_accesses_of_less_than_4_bytes_do_not(self):
        self.assertNotIn(AHEAD, rows("tl.range", 1030))
        self.assertEqual(bytes_ahead(rows("tl.range", 1030, dtype="fp32")), {4})


class Products(unittest.TestCase):
    def test_64_rows_16_columns_and_four_warps_are_asynchronous(self):
        for shape in [(64, 128, 4), (64, 16, 4), (64, 128, 8), (128, 128, 4)]:
            with self.subTest(shape):
                self.assertIn("wgmma.mma_async", product("range", *shape))
        for shape in [(32, 128, 4), (16, 128, 4), (64, 128, 2), (64, 128, 1), (64, 8, 4)]:
            with self.subTest(shape):
                ptx = product("range", *shape)
                self.assertNotIn("wgmma", ptx)
                self.assertIn("mma.sync", ptx)

    def test_operands_are_read_as_they_were_loaded_turned_ones_too(self):
        for mode in ("range", "turned as loaded"):
            with self.subTest(mode):
                self.assertNotIn("st.shared", in_the_loop(product(mode)))

    def test_a_float32_right_operand_is_contiguous_along_the_depth(self):
        float32 = {"dtype": "fp32", "bm": 64, "bn": 64}
        self.assertEqual(bytes_ahead(product("turned as loaded", **float32)), {16})
        self.assertIn(4, bytes_ahead(product("range", **float32)))

    def test_a_left_operand_is_computed_on_in_registers(self):
        for mode in ("left computed", "left selected by values", "left of a product"):
            with self.subTest(mode):
                self.assertNotIn("st.shared", in_the_loop(product(mode, bm=64, bn=64, warps=4)))

    def test_a_computed_right_operand_and_one_that_indexes_select_go_back_to_shared_memory(self):
        for mode in ("right computed", "left selected by indexes"):
            with self.subTest(mode):
                self.assertIn("st.shared", in_the_loop(product(mode)))


def in_the_loop(ptx):
    """The lines from the label that a later branch goes back to, to that branch."""
    lines = ptx.splitlines()
    labels = {line.split(":")[0]: number for number, line in enumerate(lines) if line.startswith("$L") and ":" in line}
    for number, line in enumerate(lines):
        target = line.split()[-1].rstrip(";") if "bra" in line.split() or "bra.uni" in line else None
        if target in labels and labels[target] < number:
            return "\n".join(lines[labels[target] : number])
    raise AssertionError("there is no loop")


if __name__ == "__main__":
    unittest.main()
