"""Three passes over a tensor that is far larger than the cache, where one would do."""
import torch
import triton
import triton.language as tl

EXPECTED = "redundant_traffic"
CASES = [{"name": "large", "size": 1 << 26}]
SMALL_CASES = [{"name": "small", "size": 3000}]


def make_inputs(device, seed, size):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(size, device=device, generator=generator),)


def reference(x):
    return torch.relu(x * 1.5 + 0.25)


@triton.jit
def scale_kernel(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < size) * 1.5, mask=at < size)


@triton.jit
def shift_kernel(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < size) + 0.25, mask=at < size)


@triton.jit
def clip_kernel(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < size), 0.0), mask=at < size)


def kernel_function(x):
    size = x.numel()
    scaled, shifted, out = (torch.empty_like(x) for _ in range(3))
    grid = (triton.cdiv(size, 1024),)
    scale_kernel[grid](x, scaled, size, BLOCK=1024)
    shift_kernel[grid](scaled, shifted, size, BLOCK=1024)
    clip_kernel[grid](shifted, out, size, BLOCK=1024)
    return out
