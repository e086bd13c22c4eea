"""A sum of costly terms by programs of one warp each, which keep so much of their input in shared memory ahead
of time that a multiprocessor holds only one of them, and three of its four schedulers have nothing to do."""
import torch
import triton
import triton.language as tl

EXPECTED = "occupancy_shared_memory"
CASES = [{"name": "large", "rows": 1056, "columns": 1 << 16}]
SMALL_CASES = [{"name": "small", "rows": 2, "columns": 4096}]


def make_inputs(device, seed, rows, columns):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(rows, columns, device=device, generator=generator),)


def reference(x):
    for _ in range(4):
        x = torch.exp(-x * x)
    return x.sum(dim=-1)


@triton.jit
def sum_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in tl.range(0, columns, BLOCK, num_stages=16):
        x = tl.load(x_ptr + row * columns + start + tl.arange(0, BLOCK))
        for _ in tl.static_range(4):
            x = tl.exp(-x * x)
        total += x
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def kernel_function(x):
    rows, columns = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    sum_kernel[(rows,)](x, out, columns, BLOCK=2048, num_warps=1)
    return out
