"""RMS normalisation of rows: y = x / sqrt(mean(x^2) + eps) * weight."""

import torch
import triton
import triton.language as tl

from ..launch import block_size


@triton.jit
def _rms_norm_kernel(x_ptr, weight_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    lanes = tl.arange(0, BLOCK)
    squares = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, cols, BLOCK):
        x = tl.load(x_ptr + start + at + lanes, mask=at + lanes < cols, other=0.0).to(tl.float32)
        squares += x * x
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    for at in range(0, cols, BLOCK):
        mask = at + lanes < cols
        x = tl.load(x_ptr + start + at + lanes, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + at + lanes, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + start + at + lanes, (x * scale * weight).to(y_ptr.dtype.element_ty), mask=mask)


def rms_norm(x, weight, eps=1e-6):
    """x [rows, cols], weight [cols]; the answer has the dtype of x."""
    x = x.contiguous()
    rows, cols = x.shape
    y = torch.empty_like(x)
    _rms_norm_kernel[(rows,)](x, weight, y, cols, eps, BLOCK=block_size(cols), num_warps=4)
    return y
