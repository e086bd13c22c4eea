"""Kernels that do one thing at the rate at which the device can do it."""

import triton
import triton.language as tl


@triton.jit
def read_once(source, sink, BLOCK: tl.constexpr):
    """Each program reads its own block and writes one number."""
    block = tl.program_id(0)
    values = tl.load(source + block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK))
    tl.store(sink + block, tl.sum(values, axis=0))


@triton.jit
def read_again(source, sink, blocks, rounds, BLOCK: tl.constexpr):
    """Each program reads `rounds` blocks of the same memory, past the L1 cache."""
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for turn in range(rounds):
        block = (program + turn * 37) % blocks
        total += tl.load(source + block * BLOCK + tl.arange(0, BLOCK), cache_modifier=".cg")
    tl.store(sink + program, tl.sum(total, axis=0))


@triton.jit
def do_nothing(pointer):
    return
