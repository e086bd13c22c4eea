"""Memory that is not written to holds NaN: no answer can be read from what lay there before."""
import contextlib
import ctypes

import torch

from .codec import dtype_of

_PATTERN = 0xFF  # all ones: NaN in every floating-point format, -1 in integers
# mallopt(3): memory is filled with the complement of the value's lowest byte; 0 turns filling off.
_M_PERTURB, _FILL_WITH_ONES, _OFF = -6, 0x100, 0


# Blocks that are filled of each size at most, and the least that stay alive of it in one call: an output, a second
# tensor of its size that the candidate allocates, and one to spare.
_MOST_BLOCKS, BLOCKS = 1024, 3
# What torch's allocator does (CUDACachingAllocator): sizes are multiples of 512 bytes, those up to a MiB have blocks
# of their own, and of a larger block a rest of more than a MiB is kept for others.
_GRAIN, _SMALL = 512, 1 << 20
_snapshot = torch.cuda.memory_snapshot


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
    poison_freed_blocks(device, output_sizes(outputs), BLOCKS)
    yield


def output_sizes(outputs):
    """Bytes of each."""
    return [_bytes(output) for output in outputs]


def _bytes(output):
    count = 1
    for size in output["shape"]:
        count *= size
    return count * dtype_of(output["dtype"]).itemsize


def poison_freed_blocks(device, sizes, copies):
    """Fills `copies` blocks of each size and frees them for the allocator to hand out next; more where it has
    more to hand out. Nothing is given back to the driver, whose locks others may hold for long."""
    blocks = []
    try:
        for size in filter(None, sizes):
            count = max(copies, min(_MOST_BLOCKS, blocks_at_hand(_snapshot(), torch.device(device).index or 0, size)))
            blocks += [torch.full((size,), _PATTERN, dtype=torch.uint8, device=device) for _ in range(count)]
        torch.cuda.synchronize(device)
    except torch.OutOfMemoryError:
        blocks.clear()
        torch.cuda.empty_cache()  # the call itself needs the memory


def blocks_at_hand(segments, device, size):
    """How many blocks of `size` bytes torch can hand out of what it keeps (`torch.cuda.memory_snapshot()`)."""
    size = -(-size // _GRAIN) * _GRAIN
    kind = "small" if size <= _SMALL else "large"
    free = [
        block["size"]
        for segment in segments
        if segment["device"] == device and segment["segment_type"] == kind
        for block in segment["blocks"]
        if block["state"] == "inactive"
    ]
    return sum(_pieces_of(block, size, kind) for block in free)


def _pieces_of(block, size, kind):
    least_rest, pieces = _GRAIN if kind == "small" else _SMALL + 1, 0
    while block >= size:
        pieces, block = pieces + 1, block - size
        if block < least_rest:
            break
    return pieces
