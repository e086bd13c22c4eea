"""A table in shared memory whose entries are read 32 words apart, so that all threads of a warp want the
same bank."""
import torch
import triton
import triton.language as tl

EXPECTED = "bank_conflicts"
CASES = [{"name": "large", "programs": 1056, "rounds": 256}]
SMALL_CASES = [{"name": "small", "programs": 2, "rounds": 3}]
TABLE = 2048


def make_inputs(device, seed, programs, rounds):
    generator = torch.Generator(device=device).manual_seed(seed)
    return torch.randn(programs, TABLE, device=device, generator=generator), rounds


def _entry(at):
    """A transposition of the table as 32 columns."""
    return (at % (TABLE // 32)) * 32 + at // (TABLE // 32)


def reference(x, rounds):
    at = torch.arange(TABLE, device=x.device)
    for _ in range(rounds):
        x = x[:, _entry(at)]
    return x


@triton.jit
def shuffle_kernel(x_ptr, out_ptr, rounds, TABLE: tl.constexpr):
    at = tl.arange(0, TABLE)
    places = tl.program_id(0) * TABLE + at
    entry = (at % (TABLE // 32)) * 32 + at // (TABLE // 32)
    x = tl.load(x_ptr + places)
    for _ in range(rounds):
        x = tl.gather(x, entry, axis=0)
    tl.store(out_ptr + places, x)


def kernel_function(x, rounds):
    out = torch.empty_like(x)
    shuffle_kernel[(x.shape[0],)](x, out, rounds, TABLE=TABLE, num_warps=8)
    return out
