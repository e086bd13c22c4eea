"""Every program follows a list through memory: each load waits for the one before it, however many programs
there are."""
import torch
import triton
import triton.language as tl

EXPECTED = "dependency_chain"
CASES = [{"name": "long", "programs": 4224, "entries": 1 << 20, "steps": 256}]
SMALL_CASES = [{"name": "small", "programs": 4, "entries": 64, "steps": 5}]


def make_inputs(device, seed, programs, entries, steps):
    generator = torch.Generator(device=device).manual_seed(seed)
    following = torch.randperm(entries, device=device, generator=generator).to(torch.int32)
    begin = torch.randint(entries, (programs,), device=device, generator=generator, dtype=torch.int32)
    return following, begin, steps


def reference(following, begin, steps):
    at = begin
    for _ in range(steps):
        at = following[at.long()]
    return at


@triton.jit
def follow_kernel(following_ptr, begin_ptr, out_ptr, steps):
    program = tl.program_id(0)
    at = tl.load(begin_ptr + program)
    for _ in range(steps):
        at = tl.load(following_ptr + at)
    tl.store(out_ptr + program, at)


def kernel_function(following, begin, steps):
    out = torch.empty_like(begin)
    follow_kernel[(begin.numel(),)](following, begin, out, steps, num_warps=2)
    return out
