"""A tiled product with bias and GELU in its epilogue."""

import torch
import triton
import triton.language as tl


@triton.jit
def _linear_gelu_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        x_mask = (rows[:, None] < M) & (k + inner[None, :] < K)
        x = tl.load(x_ptr + rows[:, None] * K + k + inner[None, :], mask=x_mask, other=0.0)
        weight_mask = (cols[None, :] < N) & (k + inner[:, None] < K)
        weight = tl.load(weight_ptr + cols[None, :] * K + k + inner[:, None], mask=weight_mask, other=0.0)
        acc += tl.dot(x, weight, input_precision="ieee")
    acc += tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)[None, :]
    y = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    y_mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(y_ptr + rows[:, None] * N + cols[None, :], y.to(y_ptr.dtype.element_ty), mask=y_mask)


def kernel_function(x, weight, bias):
    M, K = x.shape
    N = weight.shape[0]
    x, weight = x.contiguous(), weight.contiguous()
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    _linear_gelu_kernel[grid](x, weight, bias, y, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4)
    return y
