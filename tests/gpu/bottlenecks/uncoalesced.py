"""A transposition that reads down the columns: neighbouring threads read addresses a whole row apart, and
each takes 4 of the 32 bytes that it fetches."""
import torch
import triton
import triton.language as tl

EXPECTED = "uncoalesced_access"
CASES = [{"name": "square", "size": 4096}]
SMALL_CASES = [{"name": "small", "size": 64}]


def make_inputs(device, seed, size):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(size, size, device=device, generator=generator),)


def reference(x):
    return x.t().contiguous()


@triton.jit
def transpose_kernel(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    column = tl.program_id(0)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows * size + column, mask=rows < size)
    tl.store(out_ptr + column * size + rows, x, mask=rows < size)


def kernel_function(x):
    size = x.shape[0]
    out = torch.empty_like(x)
    transpose_kernel[(size, triton.cdiv(size, 1024))](x, out, size, BLOCK=1024)
    return out
