"""Memory that is not written to holds NaN: no answer can be read from what lay there before."""
import contextlib
import ctypes

import torch

from .codec import dtype_of

_PATTERN = 0xFF  # all ones: NaN in every floating-point format, -1 in integers
# mallopt(3): memory is filled with the complement of the value's lowest byte; 0 turns filling off.
_M_PERTURB, _FILL_WITH_ONES, _OFF = -6, 0x100, 0


@contextlib.contextmanager
def poisoned(device, outputs):
    """While it is entered, memory that torch allocates for tensors like `outputs` (descriptions) is poisoned.

    cuda: blocks of these sizes are filled and freed, and the allocator hands them out again.
    cpu: the C library fills what it allocates (all but small blocks that it has in a thread's cache).
    """
    if torch.device(device).type == "cpu":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is None:
            yield
            return
        mallopt(_M_PERTURB, _FILL_WITH_ONES)
        try:
            yield
        finally:
            mallopt(_M_PERTURB, _OFF)
        return
    _poison_freed_blocks(device, [_bytes(output) for output in outputs])
    yield


def _bytes(output):
    count = 1
    for size in output["shape"]:
        count *= size
    return count * dtype_of(output["dtype"]).itemsize


def _poison_freed_blocks(device, sizes):
    torch.cuda.empty_cache()  # what is cached already would be handed out first
    blocks = []
    try:
        for size in sizes:
            # One more than is needed: a candidate may allocate a second tensor of the size.
            blocks += [torch.full((size,), _PATTERN, dtype=torch.uint8, device=device) for _ in range(2)]
        torch.cuda.synchronize(device)
    except torch.OutOfMemoryError:
        blocks.clear()
        torch.cuda.empty_cache()  # the call itself needs the memory
