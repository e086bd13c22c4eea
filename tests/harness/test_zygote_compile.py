"""Compiling for a GPU without one: real binaries for compute capability 9.0, inside the sandbox."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from zygote_host import NATIVE, Host, Refused, codec  # noqa: E402

HOPPER = [9, 0]
host = libraries = None

# What a launcher links against; nothing of it is called before a launch.
DRIVER = """
int cuGetErrorString, cuPointerGetAttribute, cuCtxGetCurrent, cuDeviceGet, cuDevicePrimaryCtxRetain,
    cuCtxSetCurrent, cuFuncSetAttribute;
"""

ROWS = """
import torch
import triton
import triton.language as tl

@triton.jit
def row_sums(x, out, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row.to(tl.int64) * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    tl.store(out + row, tl.sum(total))

def kernel_function(x):
    out = torch.empty(x.shape[0], device="cuda", dtype=torch.float32)
    with torch.cuda.device(x.device):
        row_sums[(x.shape[0],)](x, out, *x.shape, BLOCK=1024)
    torch.cuda.synchronize()
    return out
"""

PRODUCT = """
import torch
import triton
import triton.language as tl

@triton.autotune(
    [triton.Config({"BLOCK": 64, "DEPTH": depth}, num_warps=warps, num_stages=stages)
     for depth, warps, stages in ((32, 4, 2), (64, 4, 3), (256, 8, 8))],
    key=["size"],
)
@triton.jit
def product(a, b, c, size, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, size, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        total += tl.dot(tl.load(a + rows[:, None] * size + depth), tl.load(b + depth[:, None] * size + columns))
    tl.store(c + rows[:, None] * size + columns, total.to(tl.bfloat16))

def kernel_function(a, b):
    c = torch.empty_like(a)
    product[lambda meta: (triton.cdiv(a.shape[0], meta["BLOCK"]),) * 2](a, b, c, a.shape[0])
    return c
"""

MOVE = """
import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def move(source, target, BLOCK: triton.language.constexpr):
    target.store([0, 0], source.load([0, 0]))

def kernel_function(x):
    y = torch.empty_like(x)
    describe = TensorDescriptor.from_tensor
    move[(1,)](describe(x, [32, 32]), describe(y, [32, 32]), BLOCK=32)
    return y
"""


def setUpModule():
    global host, libraries
    libraries = tempfile.TemporaryDirectory()
    source = pathlib.Path(libraries.name) / "driver.c"
    source.write_text(DRIVER)
    library = os.path.join(libraries.name, "libcuda.so.1")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, str(source)], check=True)
    path = {"LD_LIBRARY_PATH": libraries.name, "TRITON_LIBCUDA_PATH": libraries.name}
    host = Host("cuda:0", HOPPER, readable=[libraries.name], **path)


def tearDownModule():
    host.close()
    libraries.cleanup()


def tensor(dtype, *shape, offset=0):
    stride = codec.contiguous_stride(shape)
    return {"tensor": codec.describe_tensor(0, getattr(torch, dtype), shape, stride, offset)}


def inputs(*arguments):
    nothing = {name: [] for name in ("buffers", "init", "outputs", "mutated", "cotangents", "gradients")}
    return {"case": 0, "seed": 1, "arguments": list(arguments), "parameters": {}, "init_seed": 0, **nothing}


class Compiling(unittest.TestCase):
    def compile(self, source, *arguments, **call):
        child = host.candidate(source)
        self.addCleanup(child.close)
        compiled = child.ask("compile", inputs=inputs(*arguments), call={**NATIVE, **call}, capability=HOPPER)
        self.child = child
        return compiled

    def test_registers_and_shared_memory_are_known_and_the_launcher_is_built(self):
        compiled = self.compile(ROWS, tensor("bfloat16", 64, 5000))
        self.assertIsNone(compiled["skipped"])
        (facts,) = compiled["kernels"]
        self.assertEqual((facts["kernel"], facts["spills"]), ("row_sums", 0))
        self.assertIn(facts["registers"], range(8, 256))
        self.assertGreater(facts["shared_bytes"], 0)
        made = [path.name for path in (self.child.scratch / ".cache").rglob("*")]
        self.assertIn("row_sums.cubin", made)
        self.assertTrue(any(name.startswith("__triton_launcher") for name in made), made)

    def test_what_makes_no_difference_to_what_runs_is_the_same_program(self):
        x = tensor("bfloat16", 64, 5000)
        identity = self.compile(ROWS, x)["identity"]
        self.assertRegex(identity, "^[0-9a-f]{64}$")
        loaded = "other=0.0).to(tl.float32)"
        for same in (
            ROWS.replace("@triton.jit", "# further down\n\n@triton.jit"),
            ROWS.replace("BLOCK=1024", "BLOCK=1024, num_warps=4"),  # the default
            ROWS.replace("tl.zeros((BLOCK,), dtype=tl.float32)", "tl.full((BLOCK,), 0.0, tl.float32)"),
        ):
            self.assertEqual(self.compile(same, x)["identity"], identity, same)
        for other in (
            ROWS.replace("BLOCK=1024", "BLOCK=2048"),
            ROWS.replace("BLOCK=1024", "BLOCK=1024, num_warps=8"),
            ROWS.replace("(x.shape[0],)]", "(x.shape[0], 1 + 1)]"),
            ROWS.replace("    return out", "    return out.sqrt()"),
            ROWS.replace("row_sums[(x.shape[0],)](x, out, *x.shape", "row_sums[(x.shape[0],)](x, out, x.shape[0], 4999"),
            ROWS.replace(loaded, loaded + ".abs()"),
        ):
            self.assertNotEqual(other, ROWS)
            self.assertNotEqual(self.compile(other, x)["identity"], identity, other)
        self.assertNotEqual(self.compile(ROWS, tensor("bfloat16", 64, 5008))["identity"], identity)

    def test_a_program_that_was_not_seen_in_full_has_no_identity(self):
        asking = ROWS.replace("    out = ", "    assert x.sum().item() > 0\n    out = ")
        self.assertIsNone(self.compile(asking, tensor("bfloat16", 64, 5000))["identity"])
        self.assertIsNone(self.compile(ROWS, tensor("bfloat16", 64, 5000), grads=[0])["identity"])

    def test_descriptors_and_configurations_have_an_identity(self):
        x = tensor("float32", 64, 64)
        self.assertIsNotNone(self.compile(MOVE, x)["identity"])
        product = self.compile(PRODUCT, tensor("bfloat16", 512, 512), tensor("bfloat16", 512, 512))["identity"]
        fewer = PRODUCT.replace("(64, 4, 3), ", "")
        self.assertNotEqual(product, self.compile(fewer, tensor("bfloat16", 512, 512), tensor("bfloat16", 512, 512))["identity"])

    def test_spills_are_counted(self):
        squeezed = ROWS.replace("BLOCK=1024", "BLOCK=4096, num_warps=1, maxnreg=24")
        (facts,) = self.compile(squeezed, tensor("bfloat16", 64, 50000))["kernels"]
        self.assertLessEqual(facts["registers"], 24)
        self.assertGreater(facts["spills"], 0)

    def test_every_configuration_that_fits_is_compiled(self):
        compiled = self.compile(PRODUCT, tensor("bfloat16", 512, 512), tensor("bfloat16", 512, 512))
        self.assertEqual([facts["kernel"] for facts in compiled["kernels"]], ["product"] * 2)
        self.assertNotEqual(*[facts["shared_bytes"] for facts in compiled["kernels"]])

    def test_tensor_descriptors_compile(self):
        compiled = self.compile(MOVE, tensor("float32", 64, 64))
        self.assertEqual([facts["kernel"] for facts in compiled["kernels"]], ["move"])

    def test_a_candidate_is_told_what_the_device_is_like(self):
        def compiled(child, processors):
            properties = {"name": "NVIDIA H200", "multi_processor_count": processors, "warp_size": 32}
            x = inputs(tensor("bfloat16", 64, 5000))
            return child.ask("compile", inputs=x, call=NATIVE, capability=HOPPER, properties=properties)

        for question in (
            "torch.cuda.get_device_properties(x.device)",
            "torch.cuda.get_device_properties()",
            "torch.cuda.get_device_properties(device=0)",
            "get_device_properties(x.device.index)",
        ):
            grid = f"row_sums[(min(x.shape[0], {question}.multi_processor_count),)]"
            persistent = "from torch.cuda import get_device_properties\n" + ROWS.replace("row_sums[(x.shape[0],)]", grid)
            child = host.candidate(persistent)
            self.addCleanup(child.close)
            many, few, as_many = compiled(child, 132), compiled(child, 24), compiled(child, 100)
            self.assertIsNone(many["skipped"], question)
            self.assertEqual([facts["kernel"] for facts in many["kernels"]], ["row_sums"])
            self.assertNotEqual(many["identity"], few["identity"])
            self.assertEqual(many["identity"], as_many["identity"])

    def test_tuning_briefly_is_not_held_against_the_candidate(self):
        child = host.fork()
        self.addCleanup(child.close)
        self.assertEqual(child.load(PRODUCT, tuning="brief")["observed"], [])

    def test_alignment_is_that_of_the_real_tensor(self):
        aligned, askew = tensor("float32", 64, 4096), tensor("float32", 64, 4096, offset=4)
        binaries = []
        for argument in (aligned, askew):
            self.compile(ROWS, argument)
            (path,) = (self.child.scratch / ".cache").rglob("row_sums.ttir")
            binaries.append(path.read_text())
        first = [text.split("%x: ")[1].split(", %out")[0] for text in binaries]
        self.assertIn("divisibility", first[0])
        self.assertNotIn("divisibility", first[1])

    def refusal(self, source, *arguments):
        with self.assertRaises(Refused) as caught:
            self.compile(source, *arguments)
        self.assertEqual(caught.exception.kind, "compile")
        return caught.exception

    def test_what_triton_refuses_names_its_line(self):
        broken = ROWS.replace("tl.store(out + row, tl.sum(total))", "tl.store(out + row, total.nonsense)")
        refusal = self.refusal(broken, tensor("bfloat16", 64, 5000))
        self.assertEqual(refusal.line, 13)
        self.assertIn("nonsense", refusal.message)

    def test_too_much_shared_memory_is_refused_before_it_is_assembled(self):
        greedy = PRODUCT.replace("((32, 4, 2), (64, 4, 3), (256, 8, 8))", "((256, 8, 8),)")
        refusal = self.refusal(greedy, tensor("bfloat16", 512, 512), tensor("bfloat16", 512, 512))
        self.assertIn("shared memory", refusal.message)
        self.assertIn(str(227 << 10), refusal.message)

    def test_another_architecture_has_limits_of_its_own(self):
        arguments = tensor("bfloat16", 512, 512), tensor("bfloat16", 512, 512)
        large = PRODUCT.replace("((32, 4, 2), (64, 4, 3), (256, 8, 8))", "((128, 4, 5),)")
        self.compile(large, *arguments)
        self.assertEqual(self.child.ask("compile", inputs=inputs(*arguments), call=NATIVE, capability=[8, 0])["skipped"], None)
        with self.assertRaises(Refused) as caught:
            self.child.ask("compile", inputs=inputs(*arguments), call=NATIVE, capability=[8, 6])
        self.assertEqual(caught.exception.kind, "compile")
        self.assertIn(str(99 << 10), caught.exception.message)

    def test_what_needs_values_is_left_to_the_real_call(self):
        asking = ROWS.replace("    out = ", "    assert x.sum().item() > 0\n    out = ")
        compiled = self.compile(asking, tensor("bfloat16", 64, 5000))
        self.assertEqual(compiled["kernels"], [])
        self.assertIn("DataDependent", compiled["skipped"])

    def test_what_the_candidate_keeps_between_calls_stays_untouched(self):
        keeping = ROWS.replace("def kernel_function(x):", "KEPT = []\ndef kernel_function(x):\n    KEPT.append(x)")
        keeping = keeping.replace("    return out", "    assert len(KEPT) == 1\n    return out")
        compiled = self.compile(keeping, tensor("bfloat16", 64, 5000))
        again = self.child.ask("compile", inputs=inputs(tensor("bfloat16", 64, 5000)), call=NATIVE, capability=HOPPER)
        self.assertEqual((again, again["skipped"]), (compiled, None))

    def test_a_compiler_that_crashes_is_an_error_like_another(self):
        crashing = ROWS.replace("    torch.cuda.sync", "    import os; os.abort()\n    torch.cuda.sync")
        refusal = self.refusal(crashing, tensor("bfloat16", 64, 5000))
        self.assertIn("signal 6", refusal.message)

    def test_a_backward_pass_is_left_to_the_real_call(self):
        compiled = self.compile(ROWS, tensor("bfloat16", 64, 5000), grads=[0])
        self.assertEqual(len(compiled["kernels"]), 1)
        self.assertIn("backward", compiled["skipped"])


if __name__ == "__main__":
    unittest.main()
