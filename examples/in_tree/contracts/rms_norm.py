"""RMS normalisation of rows with a weight."""

import torch

CASES = [
    {"name": "hidden_4096", "rows": 16384, "cols": 4096, "dtype": "bfloat16"},
    {"name": "ragged", "rows": 1003, "cols": 2999, "dtype": "float32"},
]
SMALL_CASES = [{"name": "tiny", "rows": 5, "cols": 1300, "dtype": "float32"}]
TOLERANCE = {"bfloat16": {"rtol": 1.6e-2, "atol": 1e-2}, "float32": {"rtol": 1e-4, "atol": 1e-5}}
EPS = 1e-6


def make_inputs(device, seed, rows, cols, dtype):
    """Return (x [rows, cols], weight [cols], eps)."""
    generator = torch.Generator(device=device).manual_seed(seed)
    dtype = getattr(torch, dtype)
    x = torch.randn(rows, cols, generator=generator, device=device, dtype=dtype)
    weight = torch.randn(cols, generator=generator, device=device, dtype=dtype)
    return x, weight, EPS


def reference(x, weight, eps):
    wide = x.double() if x.dtype == torch.float64 else x.float()
    scaled = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(wide.dtype)).to(x.dtype)
