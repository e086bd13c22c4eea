"""A tiled matrix product; the tile of the inner dimension has a default."""
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr = 32,
):
    i = tl.program_id(0) * TM + tl.arange(0, TM)
    j = tl.program_id(1) * TN + tl.arange(0, TN)
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for start in range(0, K, TK):
        k = start + tl.arange(0, TK)
        a = tl.load(a_ptr + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    where = c_ptr + i[:, None] * N + j[None, :]
    tl.store(where, acc.to(c_ptr.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N))


def kernel_function(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    TM, TN = 64, 32
    grid = (triton.cdiv(M, TM), triton.cdiv(N, TN))
    product_kernel[grid](
        a, b, c, M, N, K,
        TM=TM,
        TN=TN,
        num_warps=4,
    )
    return c
