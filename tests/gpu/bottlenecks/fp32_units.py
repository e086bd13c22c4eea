"""A product whose input precision rules the tensor cores out."""
import torch
import triton
import triton.language as tl

EXPECTED = "fp32_units"
CASES = [{"name": "square", "size": 2048}]
SMALL_CASES = [{"name": "small", "size": 128}]
TOLERANCE = {"rtol": 1e-4, "atol": 1e-3}


def make_inputs(device, seed, size):
    generator = torch.Generator(device=device).manual_seed(seed)
    return tuple(torch.randn(size, size, device=device, generator=generator) for _ in range(2))


def reference(a, b):
    return a @ b


@triton.jit
def product_kernel(a_ptr, b_ptr, out_ptr, size, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    acc = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, size, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        a = tl.load(a_ptr + rows[:, None] * size + depth[None, :])
        b = tl.load(b_ptr + depth[:, None] * size + columns[None, :])
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(out_ptr + rows[:, None] * size + columns[None, :], acc)


def kernel_function(a, b):
    size = a.shape[0]
    out = torch.empty_like(a)
    product_kernel[(size // 64, size // 64)](a, b, out, size, TILE=64, DEPTH=32, num_warps=4, num_stages=3)
    return out
