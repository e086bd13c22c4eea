"""Nests: what arguments and answers are made of, tensors in lists, tuples and dicts."""

import torch


def labelled(value, label):
    """[(label, tensor)] for every tensor in `value`, in the order of `codec.flatten`: "argument 0[1]"."""
    if isinstance(value, torch.Tensor):
        return [(label, value)]
    if isinstance(value, dict):
        items = [(f"{label}[{name!r}]", item) for name, item in value.items()]
    elif isinstance(value, (list, tuple)):
        items = [(f"{label}[{at}]", item) for at, item in enumerate(value)]
    else:
        return []
    return [found for name, item in items for found in labelled(item, name)]


def labelled_arguments(arguments):
    """The same for a list of positional arguments."""
    return [found for at, value in enumerate(arguments) for found in labelled(value, f"argument {at}")]


def map_tensors(value, change):
    """A copy of the nest with every tensor replaced by `change(tensor)`, in the order of `codec.flatten`."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: map_tensors(item, change) for name, item in value.items()}
    if isinstance(value, tuple):
        return tuple(map_tensors(item, change) for item in value)
    if isinstance(value, list):
        return [map_tensors(item, change) for item in value]
    return value


def replace_tensor(value, position, tensor):
    """A copy of the nest with the tensor at `position` (as flattened) replaced."""
    seen = iter(range(1 << 62))
    return map_tensors(value, lambda old: tensor if next(seen) == position else old)


def rebuild(like, tensors):
    """The nest `like` with its tensors replaced by `tensors`, in order."""
    rest = iter(tensors)
    return map_tensors(like, lambda _: next(rest))


def span(tensor):
    """All memory from the first to the last element of `tensor`, flat; shares memory with it."""
    if tensor.numel() == 0:
        return tensor.new_empty(0)
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
    return tensor.as_strided((last + 1,), (1,), tensor.storage_offset())


def copy_with_layout(tensor):
    """A private copy with the same strides, expanded and overlapping dimensions included."""
    flat = span(tensor.detach()).clone()
    return flat.as_strided(tensor.shape, tensor.stride(), 0)
