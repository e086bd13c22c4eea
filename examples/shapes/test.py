"""Cross-entropy of every row of logits with its target class; a shape is (rows, classes)."""

import torch

SHAPES = [(8192, 32000), (4096, 128256)]
SMALL_SHAPES = [(4, 300), (3, 64)]
DTYPES = ["float32"]
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def make_inputs(shape, dtype, device, seed):
    """Return (logits [rows, classes], targets [rows] of int64)."""
    rows, classes = shape
    generator = torch.Generator(device=device).manual_seed(seed)
    logits = torch.randn(rows, classes, generator=generator, device=device, dtype=dtype)
    targets = torch.randint(0, classes, (rows,), generator=generator, device=device)
    return logits, targets


def reference(logits, targets):
    return torch.nn.functional.cross_entropy(logits, targets, reduction="none")
