"""A matrix product of a small and of a larger grid."""
import torch

CASES = SMALL_CASES = [
    {"name": "few_programs", "M": 70, "N": 50, "K": 300, "dtype": "float32"},
    {"name": "many_programs", "M": 150, "N": 80, "K": 70, "dtype": "float32"},
]
TOLERANCE = {"float32": {"rtol": 1e-4, "atol": 1e-3}}


def make_inputs(*, M, N, K, dtype, device, seed):
    """Return (A [M, K], B [K, N])."""
    generator = torch.Generator(device=device).manual_seed(seed)
    dtype = getattr(torch, dtype)
    a = torch.randn(M, K, generator=generator, device=device, dtype=dtype)
    b = torch.randn(K, N, generator=generator, device=device, dtype=dtype)
    return a, b


def reference(a, b):
    return torch.matmul(a, b)
