"""Softmax over the rows of a matrix: one program a row, in three passes."""

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    lanes = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    for at in range(0, cols, BLOCK):
        x = tl.load(x_ptr + start + at + lanes, mask=at + lanes < cols, other=float("-inf"))
        top = tl.maximum(top, x.to(tl.float32))
    row_top = tl.max(top, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, cols, BLOCK):
        x = tl.load(x_ptr + start + at + lanes, mask=at + lanes < cols, other=float("-inf"))
        total += tl.exp(x.to(tl.float32) - row_top)
    row_total = tl.sum(total, axis=0)
    for at in range(0, cols, BLOCK):
        mask = at + lanes < cols
        x = tl.load(x_ptr + start + at + lanes, mask=mask, other=float("-inf"))
        y = tl.exp(x.to(tl.float32) - row_top) / row_total
        tl.store(y_ptr + start + at + lanes, y.to(y_ptr.dtype.element_ty), mask=mask)


def softmax(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    rows, cols = x.shape
    _softmax_kernel[(rows,)](x, y, cols, BLOCK=64, num_warps=4)
    return y
