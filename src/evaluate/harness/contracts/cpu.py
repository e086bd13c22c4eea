"""What the cpu device cannot do as a contract asks, and what is done instead.

Triton's interpreter computes with the raw bits of bfloat16 values, so they become float32 there.
"""

import torch

from ..nest import map_tensors

NOTE = "bfloat16 became float32: Triton's interpreter, which stands in for a GPU here, computes bfloat16 wrongly"
_NAMES = ("bfloat16", "torch.bfloat16", "bf16")


def widen_parameter(value):
    """A case's parameter with bfloat16 replaced by float32."""
    if isinstance(value, torch.dtype):
        return torch.float32 if value == torch.bfloat16 else value
    if isinstance(value, str) and value in _NAMES:
        return {"bf16": "fp32"}.get(value, value.replace("bfloat16", "float32"))
    return value


def widen_tensors(nest):
    """A nest with its bfloat16 tensors converted to float32."""
    return map_tensors(nest, lambda tensor: tensor.float() if tensor.dtype == torch.bfloat16 else tensor)
