"""One call of a candidate for a profiler to look at.

The profiler repeats every kernel and puts back what it wrote in between, so the call works on memory of
this process alone and not on the referee's.
"""
import torch

from . import codec
from .buffers import OutOfMemory, open_buffer
from .wire import Failure


class _Copies:
    """The shared buffers of a case, copied; none of them is open any more."""

    def __init__(self, descriptions, device):
        self._memory = {}
        for description in descriptions:
            try:
                buffer = open_buffer(description, device)
                self._memory[description["buffer"]] = buffer.memory.clone()
            except (OutOfMemory, torch.OutOfMemoryError) as error:
                raise Failure("out_of_memory", f"no room for a copy of the inputs: {error}") from None
            if device != "cpu":
                torch.cuda.synchronize(device)
            buffer.close()

    def tensor(self, description):
        tensor = codec.view(self._memory[description["buffer"]], description)
        return tensor.requires_grad_() if description["grad"] else tensor


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
