"""What rowwise.softmax has to compute."""

import torch

CASES = [
    {"name": "vocabulary", "rows": 4096, "cols": 50257, "dtype": "bfloat16", "weight": 2.0},
    {"name": "ragged", "rows": 777, "cols": 1999, "dtype": "float32"},
]
SMALL_CASES = [
    {"name": "small", "rows": 4, "cols": 1500, "dtype": "float32"},
    {"name": "ragged", "rows": 3, "cols": 777, "dtype": "float32"},
]
TOLERANCE = {"bfloat16": {"rtol": 1.6e-2, "atol": 1e-6}, "float32": {"rtol": 1e-4, "atol": 1e-7}}


def make_inputs(device, seed, rows, cols, dtype):
    """Normal with a standard deviation of 4, so that the answer has a few large values a row."""
    generator = torch.Generator(device=device).manual_seed(seed)
    shape = (rows, cols)
    return (4 * torch.randn(*shape, generator=generator, device=device, dtype=getattr(torch, dtype)),)


def reference(x):
    return torch.softmax(x, dim=-1)


def bytes(rows, cols, dtype):
    """Least traffic: x is read once, the answer written once."""
    return 2 * rows * cols * getattr(torch, dtype).itemsize
