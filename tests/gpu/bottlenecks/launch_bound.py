"""Eight kernels of a few microseconds each, for a chain of sums that one kernel could keep in registers."""
import torch
import triton
import triton.language as tl

EXPECTED = "launch_overhead"
CASES = [{"name": "short", "size": 1 << 15}]
SMALL_CASES = [{"name": "small", "size": 1000}]
STEPS = 8


def make_inputs(device, seed, size):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(size, device=device, generator=generator),)


def reference(x):
    for step in range(STEPS):
        x = x * 0.5 + step
    return x


@triton.jit
def step_kernel(x_ptr, out_ptr, size, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < size) * 0.5 + step, mask=at < size)


def kernel_function(x):
    size = x.numel()
    for step in range(STEPS):
        out = torch.empty_like(x)
        step_kernel[(triton.cdiv(size, 256),)](x, out, size, float(step), BLOCK=256)
        x = out
    return x
