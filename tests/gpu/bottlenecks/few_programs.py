"""Long rows summed by one program each, eight on a device with a hundred multiprocessors."""
import torch
import triton
import triton.language as tl

EXPECTED = "too_few_programs"
CASES = [{"name": "long", "rows": 8, "columns": 1 << 20}]
SMALL_CASES = [{"name": "small", "rows": 2, "columns": 5000}]


def make_inputs(device, seed, rows, columns):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(rows, columns, device=device, generator=generator),)


def reference(x):
    return x.sum(dim=-1)


@triton.jit
def sum_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + at, mask=at < columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def kernel_function(x):
    rows, columns = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    sum_kernel[(rows,)](x, out, columns, BLOCK=2048)
    return out
