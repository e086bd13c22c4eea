"""What is asked about a survivor besides its time: how much memory a call takes, and whether it stays
within what it allocates.

Both are the child's own word. It is held against what the referee sees of the device's memory, and a
candidate that hides what it found here gains nothing: its answers are compared elsewhere.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .redzones import GUARD, RedZones, breach

_aten = torch.ops.aten
_WITHOUT_VALUES = {
    _aten.empty.memory_format, _aten.empty_strided.default, _aten.empty_like.default, _aten.new_empty.default,
    _aten.new_empty_strided.default,
}
_WITH_VALUES = {
    _aten.zeros.default, _aten.zeros_like.default, _aten.new_zeros.default, _aten.ones.default,
    _aten.ones_like.default, _aten.new_ones.default, _aten.full.default, _aten.full_like.default,
    _aten.new_full.default,
}


class Guarding(TorchDispatchMode):
    """While it is entered, tensors that are made on `device` lie between red zones."""

    def __init__(self, device):
        super().__init__()
        self._device = torch.device(device)
        self.zones = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        made = operation(*args, **(kwargs or {}))
        if operation not in _WITHOUT_VALUES and operation not in _WITH_VALUES:
            return made
        plain = type(made) is torch.Tensor and made.layout is torch.strided and not made.is_quantized
        if not plain or made.device != self._device or not made.numel() or made.untyped_storage().nbytes() == 0:
            return made
        return self._guarded(made, str(operation).removeprefix("aten.").split(".")[0], operation in _WITH_VALUES)

    def _guarded(self, made, name, with_values):
        last = sum((size - 1) * step for size, step in zip(made.shape, made.stride()))
        size = (last + 1) * made.element_size()
        # Every element type starts at a multiple of 16 bytes, like the allocation itself.
        memory = torch.empty(2 * GUARD + -(-size // 16) * 16, dtype=torch.uint8, device=made.device)
        label = f"a tensor that it allocated ({name}, shape {list(made.shape)})"
        self.zones.append(RedZones(label, memory, size))
        typed = memory[GUARD : GUARD + size].view(made.dtype)
        guarded = typed.as_strided(made.shape, made.stride(), typed.storage_offset())
        return guarded.copy_(made) if with_values else guarded


def within_bounds(call, device, synchronize):
    """{"allocations": how many were guarded, "breach": evidence or None} of one call."""
    with Guarding(device) as guarding:
        kept = call()  # so that no zone is given to another tensor
        synchronize()
    evidence = breach(guarding.zones)
    del kept
    return {"allocations": len(guarding.zones), "breach": evidence}


def at_rest(device):
    """Gives free memory back, so that what a call takes can be seen from outside."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.empty_cache()


def extra_memory(call, device, synchronize):
    """Most bytes that one call had allocated beyond what there was before; None on the cpu."""
    if torch.device(device).type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    kept = call()
    synchronize()
    del kept
    return torch.cuda.max_memory_allocated(device) - before
