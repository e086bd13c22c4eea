"""A sum into four places, one atomic addition for every value."""
import torch
import triton
import triton.language as tl

EXPECTED = "atomic_contention"
CASES = [{"name": "large", "size": 1 << 22}]
SMALL_CASES = [{"name": "small", "size": 2000}]
PLACES = 4


def make_inputs(device, seed, size):
    generator = torch.Generator(device=device).manual_seed(seed)
    # Whole numbers: their sum does not depend on its order.
    return (torch.randint(-8, 8, (size,), device=device, generator=generator).float(),)


def reference(x):
    return x.view(-1, PLACES).sum(dim=0)


@triton.jit
def sum_kernel(x_ptr, out_ptr, size, PLACES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < size, other=0.0)
    tl.atomic_add(out_ptr + at % PLACES, x, mask=at < size)


def kernel_function(x):
    out = torch.zeros(PLACES, dtype=x.dtype, device=x.device)
    sum_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), PLACES=PLACES, BLOCK=1024)
    return out
