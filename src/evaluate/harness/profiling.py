"""One call of a candidate for a profiler to look at.

The profiler repeats every kernel and puts back what it wrote in between, so the call works on memory of
this process alone and not on the referee's.
"""
import torch

from . import codec
from .buffers import OutOfMemory, open_buffer
from .wire import Failure


class _Copies:
    """Copies of the shared buffers that are asked for; none of the originals is open any more."""

    def __init__(self, descriptions, device):
        self._descriptions = {description["buffer"]: description for description in descriptions}
        self._device, self._memory = device, {}

    def tensor(self, description):
        number = description["buffer"]
        if number not in self._memory:
            self._memory[number] = self._copy(self._descriptions[number])
        tensor = codec.view(self._memory[number], description)
        return tensor.requires_grad_() if description["grad"] else tensor

    def _copy(self, description):
        try:
            buffer = open_buffer(description, self._device)
            copy = buffer.memory.clone()
        except (OutOfMemory, torch.OutOfMemoryError) as error:
            raise Failure("out_of_memory", f"no room for a copy of the inputs: {error}") from None
        if self._device != "cpu":
            torch.cuda.synchronize(self._device)
        buffer.close()
        return copy


def profile_call(binder, device, inputs, call):
    """Calls twice: unobserved, which compiles, tunes and loads everything, then observed."""
    copies = _Copies(inputs["buffers"], device)
    bound, arguments, _ = binder.bind(inputs, copies.tensor, device)
    written = [tensor for at in call["mutates"] for tensor in codec.flatten(arguments[at])]
    before = [tensor.detach().clone() for tensor in written]
    bound()
    with torch.no_grad():
        for tensor, value in zip(written, before):
            tensor.copy_(value)
    if device == "cpu":
        bound()
        return {}
    runtime = torch.cuda.cudart()
    torch.cuda.synchronize(device)
    runtime.cudaProfilerStart()
    result = bound()  # kept, so that freeing it is not observed
    torch.cuda.synchronize(device)
    runtime.cudaProfilerStop()
    del result
    return {}
