"""SwiGLU, y = silu(gate) * up: the answer is compared, and the gradients of both inputs."""

import torch

CASES = [
    {"name": "llama", "tokens": 8192, "width": 14336, "dtype": "bfloat16"},
    {"name": "ragged", "tokens": 1001, "width": 2731, "dtype": "float32"},
]
SMALL_CASES = [{"name": "tiny", "tokens": 7, "width": 130, "dtype": "float32"}]
TOLERANCE = {"bfloat16": {"rtol": 1.6e-2, "atol": 1e-2}, "float32": {"rtol": 1e-4, "atol": 1e-5}}
GRADS = [0, 1]


def make_inputs(device, seed, tokens, width, dtype):
    """Return (gate [tokens, width], up [tokens, width])."""
    generator = torch.Generator(device=device).manual_seed(seed)
    dtype = getattr(torch, dtype)
    return tuple(torch.randn(tokens, width, generator=generator, device=device, dtype=dtype) for _ in range(2))


def reference(gate, up):
    return torch.nn.functional.silu(gate) * up
