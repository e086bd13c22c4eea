"""How a call treats what it is given and what it returns: whether its outputs are its own and new, whether it
is done when it returns, what it keeps.
"""
import collections

import torch

from . import codec

_equal, _synchronize = torch.equal, torch.cuda.synchronize
_device_allocated = torch.cuda.memory_allocated
_GIB = 1 << 30

# Outputs of earlier calls stay alive up to this many bytes, so that an allocator cannot hand them out again.
_KEPT_BYTES = {"cpu": 64 << 20, "cuda": 512 << 20}
_KEPT_CALLS = 8
# What a candidate may hold on to beyond its outputs: workspaces, constants, tuned launches.
_ALLOWANCE = {"cpu": _GIB, "cuda": 256 << 20}


class Conduct:
    """Watches the calls of one candidate, one after the other."""

    def __init__(self, device):
        self._kind = torch.device(device).type
        self._device = device
        self._earlier = collections.deque(maxlen=_KEPT_CALLS)  # lists of outputs
        self._flags, self._held, self._samples = [], 0, []

    def remember(self):
        """What outputs of earlier calls hold: both ends of each, before the next call. Takes memory, so that it comes
        before free memory is poisoned."""
        tensors = [tensor for call in self._earlier for tensor in call if tensor.is_contiguous()]
        self._samples = [(end, end.clone()) for tensor in tensors for end in _ends(tensor)]

    def disturbed(self):
        """Says if an output of an earlier call is another now than before this one."""
        samples, self._samples = self._samples, []
        if all(_equal(end, before) for end, before in samples):
            return []
        return [_told("wrote into an output of an earlier call, which was still in use")]

    def begin(self, bound):
        self._flags = [(tensor, tensor.requires_grad) for tensor in codec.flatten(bound.arguments)]
        self._held = self._allocated()

    def end(self, outputs, bound):
        """What there is to say of the call that has just returned `outputs`."""
        found = []
        for at, (tensor, before) in enumerate(self._flags):
            if tensor.requires_grad != before:
                found.append(_told(f"changed requires_grad of input tensor {at} from {before} to {tensor.requires_grad}"))
        self._flags = []
        given = [addresses(tensor) for tensor in codec.flatten(bound.arguments)]
        own = [tensor for tensor in outputs if not _within(addresses(tensor), given)]
        found += self._reused(own)
        found += self._hoarded(own, bound)
        self._keep(own)
        return found

    def _reused(self, outputs):
        earlier = [addresses(tensor) for call in self._earlier for tensor in call]
        for at, tensor in enumerate(outputs):
            if _within(addresses(tensor), earlier):
                return [_told(f"returned the same memory as output {at} of two calls, the first of which was still in use")]
        return []

    def _keep(self, outputs):
        self._earlier.append([tensor.detach() for tensor in outputs])
        limit = _KEPT_BYTES[self._kind]
        while sum(_size(tensor) for call in self._earlier for tensor in call) > limit:
            self._earlier.popleft()

    def _hoarded(self, outputs, bound):
        tensors = [*outputs, *codec.flatten(bound.arguments), *codec.flatten(list(bound.weights.values()))]
        allowed = _ALLOWANCE[self._kind] + 2 * sum(map(_size, tensors))
        grown = self._allocated() - self._held - sum(map(_size, outputs))
        if grown <= allowed:
            return []
        where = "device memory" if self._kind == "cuda" else "memory"
        return [_told(f"holds {grown / _GIB:.1f} GiB of {where} after its call, beside the outputs that it returned")]

    def _allocated(self):
        if self._kind == "cuda":
            return _device_allocated(self._device)
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096


def _ends(tensor):
    flat = _bytes(tensor)
    return [flat] if flat.numel() <= 2 * _SAMPLE else [flat[:_SAMPLE], flat[-_SAMPLE:]]


_SAMPLE = 1 << 14  # bytes


def went_on(outputs, landed):
    """Says if outputs are others now than when they were copied to `landed`."""
    for at, (output, copy) in enumerate(zip(outputs, landed)):
        if copy is not None and not _same(_bytes(output), _bytes(copy)):
            return [_told(f"went on writing output {at} after the call: it works on another stream or in another thread")]
    return []


def _told(what):
    return {"what": what, "line": None}


def write_late(tensors, device):
    """Has the values of floating tensors written by the current stream only after a while, and other ones lie there
    until then: what does not wait for the caller's stream reads those."""
    memory = [_bytes(t) for t in tensors if t.is_floating_point() and t.numel() and t.is_contiguous()]
    originals = [flat.clone() for flat in memory]
    for flat, original in zip(memory, originals):
        # By one place of the widest type; of a single element not even its bytes stay where they are.
        flat.copy_(original.roll(8 if flat.numel() > 8 else 1))
    _synchronize(device)
    torch.cuda._sleep(_LATE_CYCLES)
    for flat, original in zip(memory, originals):
        flat.copy_(original)


_LATE_CYCLES = 40_000_000  # 20 ms at 2 GHz: far longer than launching takes


def addresses(tensor):
    """The addresses [start, end) from its first to its last element."""
    if tensor.device.type == "meta" or tensor.numel() == 0:
        return 0, 0
    start = tensor.data_ptr()
    return start, start + codec.extent_bytes(tensor.shape, tensor.stride(), tensor.element_size())


def _within(span, others):
    start, end = span
    return any(start < high and low < end for low, high in others)


def _size(tensor):
    start, end = addresses(tensor)
    return end - start


def _same(some, others):
    """Byte for byte; as words, which a GPU compares eight times as fast. In pieces: comparing takes memory of its
    own."""
    whole = some.numel() // _WORD * _WORD
    if any(flat.storage_offset() % _WORD or flat.data_ptr() % _WORD for flat in (some, others)):
        whole = 0
    if whole and not _same_pieces(some[:whole].view(torch.int64), others[:whole].view(torch.int64)):
        return False
    return _same_pieces(some[whole:], others[whole:])


def _same_pieces(some, others):
    pieces = range(0, some.numel(), _PIECE)
    return all(_equal(some[start : start + _PIECE], others[start : start + _PIECE]) for start in pieces)


_WORD = 8  # bytes
_PIECE = 1 << 27  # elements


def _bytes(tensor):
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)
