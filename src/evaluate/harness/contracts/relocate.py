"""Code that says "cuda" outright, run on another device."""

import contextlib

import torch
from torch.overrides import TorchFunctionMode


class _Relocate(TorchFunctionMode):
    def __init__(self, device):
        super().__init__()
        self._device = device

    def _move(self, value):
        if isinstance(value, torch.device) and value.type == "cuda":
            return self._device
        if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
            return self._device
        return value

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        if function is torch.Tensor.cuda:
            return args[0].to(self._device)
        kwargs = {name: self._move(value) for name, value in (kwargs or {}).items()}
        return function(*map(self._move, args), **kwargs)


@contextlib.contextmanager
def cuda_means(device):
    """Within this, device="cuda" in calls of torch, generators included, means `device`."""
    if device.type == "cuda":
        with torch.cuda.device(device):
            yield
        return
    generator = torch.Generator
    torch.Generator = lambda device="cpu": generator(device=_target(device))

    def _target(asked):
        return "cpu" if str(asked).startswith("cuda") else asked

    try:
        with _Relocate(device):
            yield
    finally:
        torch.Generator = generator
