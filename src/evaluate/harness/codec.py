"""Tensors and arguments as JSON, and back.

`encode_argument` asks `place(tensor)` for the description of each tensor it meets, `decode_argument`
asks `tensor_of(description)` for each tensor: what lies behind (a mapped file, device memory, a fake
tensor) is the caller's business.
"""
import math
import operator

import torch

_DTYPES = {str(v).removeprefix("torch."): v for v in vars(torch).values() if isinstance(v, torch.dtype)}


def dtype_name(dtype):
    """torch.bfloat16 -> "bfloat16"."""
    return str(dtype).removeprefix("torch.")


def dtype_of(name):
    """"bfloat16" -> torch.bfloat16."""
    if name not in _DTYPES:
        raise ValueError(f"{name!r} is no torch dtype")
    return _DTYPES[name]


def extent_bytes(shape, stride, itemsize):
    """Bytes from the first to the last element of a tensor, both included; 0 for an empty tensor."""
    if 0 in shape:
        return 0
    return (1 + sum((size - 1) * step for size, step in zip(shape, stride))) * itemsize


def contiguous_stride(shape):
    stride, step = [], 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return stride[::-1]


def describe_tensor(buffer, dtype, shape, stride, offset=0, grad=False):
    return {
        "buffer": buffer,
        "offset": offset,
        "dtype": dtype_name(dtype),
        "shape": list(shape),
        "stride": list(stride),
        "grad": grad,
    }


def view(memory, description):
    """The tensor that `description` names in `memory`, a flat uint8 tensor; gradients are not asked for."""
    dtype = dtype_of(description["dtype"])
    shape, stride = description["shape"], description["stride"]
    start = description["offset"]
    size = extent_bytes(shape, stride, dtype.itemsize)
    if start < 0 or start + size > memory.numel() or any(step < 0 for step in stride):
        raise ValueError(f"tensor {description} lies outside its buffer of {memory.numel()} bytes")
    return memory[start : start + size].view(dtype).as_strided(shape, stride, storage_offset=start // dtype.itemsize)


def encode_argument(value, place):
    """JSON for an argument; TypeError for what cannot be sent to another process."""
    if isinstance(value, torch.Tensor):
        return {"tensor": place(value)}
    if value is None or isinstance(value, (bool, str)):
        return {"value": value}
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, torch.device):
        return {"value": str(value)}
    if isinstance(value, float):
        return {"value": float(value)} if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, tuple):
        return {"tuple": [encode_argument(item, place) for item in value]}
    if isinstance(value, list):
        return {"list": [encode_argument(item, place) for item in value]}
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("a dict argument may only have strings as keys")
        return {"dict": {name: encode_argument(item, place) for name, item in value.items()}}
    if hasattr(type(value), "__index__"):
        return {"value": operator.index(value)}
    raise TypeError(f"an argument of type {type(value).__name__} cannot be sent to the candidate's process")


def decode_argument(argument, tensor_of):
    """The Python object for an argument."""
    ((form, content),) = argument.items()
    if form == "tensor":
        return tensor_of(content)
    if form == "value":
        return content
    if form == "float":
        return float(content)
    if form == "dtype":
        return dtype_of(content)
    if form == "list":
        return [decode_argument(item, tensor_of) for item in content]
    if form == "tuple":
        return tuple(decode_argument(item, tensor_of) for item in content)
    if form == "dict":
        return {name: decode_argument(item, tensor_of) for name, item in content.items()}
    raise ValueError(f"no argument form {form!r}")


def flatten(value):
    """The tensors in a nest of lists, tuples and dicts, in order; everything else is left out. Runs no code of
    classes derived from these."""
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        return [value]
    for base, items in _ITEMS:
        if issubclass(kind, base):
            return [tensor for item in items(value) for tensor in flatten(item)]
    return []


_ITEMS = (dict, dict.values), (list, list.__iter__), (tuple, tuple.__iter__)
