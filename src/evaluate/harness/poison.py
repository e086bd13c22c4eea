"""Memory that is not written to holds NaN: no answer can be read from what lay there before."""
import contextlib
import ctypes

import torch

from .codec import dtype_of

_PATTERN = 0xFF  # all ones: NaN in every floating-point format, -1 in integers
# mallopt(3): memory is filled with the complement of the value's lowest byte; 0 turns filling off.
_M_PERTURB, _FILL_WITH_ONES, _OFF = -6, 0x100, 0


# The least that stays alive of a size in one call: an output, a second tensor of its size that the candidate
# allocates, and one to spare.
BLOCKS = 3
# Pieces that the allocator keeps for later, at most so many of them.
_MOST_PIECES = 256
# torch's allocator (CUDACachingAllocator) rounds sizes up to this, bytes.
_GRAIN = 512
_snapshot, _stream = torch.cuda.memory_snapshot, torch.cuda.current_stream


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
    """Fills `copies` blocks of each size, and whatever else torch keeps that is as large as one of them, and frees
    all of it for the allocator to hand out next. Nothing is given back to the driver, whose locks others may hold for
    long; nor is anything taken from it, once there are blocks enough."""
    sizes = sorted(filter(None, sizes), reverse=True)
    if not sizes:
        return
    for _ in range(2):
        blocks = []
        try:
            for size in sizes:
                blocks += [_filled(size, device) for _ in range(copies)]
            for size in free_pieces(_snapshot(), *_place(device), sizes[-1])[:_MOST_PIECES]:
                blocks.append(_filled(size, device))
            torch.cuda.synchronize(device)
            return
        except torch.OutOfMemoryError:
            blocks.clear()
            torch.cuda.empty_cache()  # the call itself needs the memory


def _filled(size, device):
    return torch.full((size,), _PATTERN, dtype=torch.uint8, device=device)


def _place(device):
    return torch.device(device).index or 0, _stream(device).cuda_stream


def free_pieces(segments, device, stream, least):
    """Sizes of the pieces, the largest first, that torch keeps (`torch.cuda.memory_snapshot()`) and could make a block
    of `least` bytes of on that stream. An allocation of the same size gets the very piece."""
    least = -(-least // _GRAIN) * _GRAIN
    pieces = [
        block["size"]
        for segment in segments
        if segment["device"] == device and segment["stream"] == stream
        if tuple(segment.get("segment_pool_id", (0, 0))) == (0, 0)
        for block in segment["blocks"]
        if block["state"] == "inactive" and block["size"] >= least
    ]
    return sorted(pieces, reverse=True)
