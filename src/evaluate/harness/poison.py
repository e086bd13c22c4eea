"""Memory that is not written to holds NaN: no answer can be read from what lay there before."""
import contextlib
import ctypes

import torch

from .codec import dtype_of
from .readiness import BLOCKS

_PATTERN = 0xFF  # all ones: NaN in every floating-point format, -1 in integers
# mallopt(3): memory is filled with the complement of the value's lowest byte; 0 turns filling off.
_M_PERTURB, _FILL_WITH_ONES, _OFF = -6, 0x100, 0


@contextlib.contextmanager
def poisoned(device, outputs, reserved=False):
    """While it is entered, memory that torch allocates for tensors like `outputs` (descriptions) is poisoned.

    cuda: blocks of these sizes are filled and freed, and the allocator hands them out again. `reserved`
    says that it keeps such blocks already, and nothing else that it could hand out.
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
    # One more than is needed: a candidate may allocate a second tensor of the size.
    poison_freed_blocks(device, output_sizes(outputs), BLOCKS if reserved else 2, anew=not reserved)
    yield


def output_sizes(outputs):
    """Bytes of each."""
    return [_bytes(output) for output in outputs]


def _bytes(output):
    count = 1
    for size in output["shape"]:
        count *= size
    return count * dtype_of(output["dtype"]).itemsize


def poison_freed_blocks(device, sizes, copies, anew=True):
    """Fills `copies` blocks of each size and frees them for the allocator to hand out next; `anew` makes it give
    back first what it has cached, which it would hand out before these."""
    if anew:
        torch.cuda.empty_cache()
    blocks = []
    try:
        for size in sizes:
            blocks += [torch.full((size,), _PATTERN, dtype=torch.uint8, device=device) for _ in range(copies)]
        torch.cuda.synchronize(device)
    except torch.OutOfMemoryError:
        blocks.clear()
        torch.cuda.empty_cache()  # the call itself needs the memory
