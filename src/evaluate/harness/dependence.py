"""Which share of its inputs a reference depends on: what a kernel must read whatever it does.

Asked before a result is called impossible, since a reference may well read what its answer does not
depend on (the upper half of a triangle, what a mask hides, all but every other row of a convolution with
strides). Sectors of 32 bytes, the least that comes from memory, are drawn at random; each is replaced by
extreme values, and counts as needed if the answer changes.
"""

import math
import random
import time

import torch

from .agreement import is_inexact
from .answers import run_reference
from .codec import flatten
from .contracts.source import is_out_of_memory
from .nest import copy_with_layout, map_tensors, span
from .wire import Failure

_SECTOR = 32
_SAMPLES = 48
_SECONDS = 15
# How many times the largest value of a tensor a substitute is.
_EXTREME = 64


def measure_dependence(contract, contents):
    """{"sampled": n, "needed": k, "bytes": of all inputs}, sectors drawn in proportion to the inputs' bytes; 0 sampled
    where the reference does not give the same answer twice or fails."""
    probe = _Probe(contract, contents)
    sampled = needed = 0
    try:
        if probe.changed():
            return {"sampled": 0, "needed": 0, "bytes": probe.size()}
        started = time.monotonic()
        for sector in probe.sectors():
            if time.monotonic() - started > _SECONDS:
                break
            sampled += 1
            needed += probe.needs(sector)
    except Exception as error:
        if not is_out_of_memory(error) and not isinstance(error, Failure):
            raise
    return {"sampled": sampled, "needed": needed, "bytes": probe.size()}


class _Probe:
    def __init__(self, contract, contents):
        self._contract, self._contents = contract, contents
        skipped = contents.destinations
        tensors = [tensor for at, (_, tensor) in enumerate(contents.labels()) if at not in skipped and tensor.numel()]
        self._tensors = tensors
        self._random = random.Random(contents.seed)

    def size(self):
        return sum(tensor.numel() * tensor.element_size() for tensor in self._tensors)

    def sectors(self):
        """Flat pieces of the inputs' memory."""
        if not self._tensors:
            return
        weights = [tensor.numel() * tensor.element_size() for tensor in self._tensors]
        for tensor in self._random.choices(self._tensors, weights, k=_SAMPLES):
            place = [self._random.randrange(size) for size in tensor.shape]
            at = sum(index * step for index, step in zip(place, tensor.stride()))
            length = max(_SECTOR // tensor.element_size(), 1)
            start = at - at % length
            yield span(tensor)[start : start + length]

    def needs(self, sector):
        """Whether the answer changes with what lies there; it is put back in any case."""
        kept = sector.clone()
        try:
            for substitute in _substitutes(kept, self._bounds(sector)):
                sector.copy_(substitute)
                if self.changed():
                    return True
            return False
        finally:
            sector.copy_(kept)

    def _bounds(self, sector):
        """Least and largest value of the tensor that a sector is a piece of."""
        if sector.dtype == torch.bool:
            return 0, 1
        memory = sector.untyped_storage().data_ptr()
        tensor = next(t for t in self._tensors if t.untyped_storage().data_ptr() == memory and t.dtype == sector.dtype)
        values = tensor if tensor.element_size() > 1 else tensor.float()
        if values.is_complex():
            values = torch.view_as_real(values)
        return float(values.min()), float(values.max())

    def changed(self):
        contract, contents, problem = self._contract, self._contents, self._contents.problem
        arguments = problem.arguments
        if contract.destinations_allowed:
            arguments = [map_tensors(argument, copy_with_layout) for argument in arguments]
        answer = run_reference(contract, contents.case, contents.seed, problem, arguments, problem.parameters)
        found = answer.outputs + answer.mutated
        expected = contents.answer.outputs + contents.answer.mutated
        if not found:
            at = sorted(contents.destinations)
            found = [flatten(arguments)[position] for position in at]
            expected = [flatten(problem.arguments)[position] for position in at]
        return len(found) != len(expected) or not all(map(_same, found, expected))


def _same(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.itemsize == 1 and is_inexact(a.dtype):
        a, b = a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8)
    return torch.equal(a, b)


def _substitutes(kept, bounds):
    """Values far outside for floats, mirrored within the bounds for integers, which may be indices."""
    low, high = bounds
    if kept.dtype == torch.bool:
        return [~kept]
    if not is_inexact(kept.dtype):
        if low == high:
            return []
        middle = int(low) + int(high)
        return [middle - kept, torch.full_like(kept, int(low)), torch.full_like(kept, int(high))]
    limit = torch.finfo(kept.dtype).max / 4
    extreme = max(abs(low), abs(high)) if math.isfinite(low) and math.isfinite(high) else 1.0
    extreme = min(_EXTREME * extreme + 1, limit)
    return [torch.full(kept.shape, sign * extreme, device=kept.device).to(kept.dtype) for sign in (1.0, -1.0)]
