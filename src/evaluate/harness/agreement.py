"""How far an answer is from what is expected, in pieces, so that tensors of gigabytes need no more beside them."""

import dataclasses
import math

import torch

from . import fused

# Elements: few enough that pieces need little memory, many enough that a GPU is not kept waiting for launches.
_CHUNK = 1 << 24


@dataclasses.dataclass
class Deviation:
    """Of one tensor. `error` is the largest |output - expected| / limit: at most 1 within tolerance."""

    error: float = 0.0
    off: int = 0  # elements beyond their limit
    worst: int | None = None  # flat index of the largest error
    unwritten: int = 0  # NaN where the expected value is none
    first_unwritten: int | None = None


def _flat(tensor):
    """Real numbers in a row; 8-bit floats and bool, which lack operations, in a form that has them."""
    flat = tensor.contiguous().reshape(-1)
    if flat.is_complex():
        return torch.view_as_real(flat).reshape(-1)
    return flat.view(torch.uint8) if flat.dtype == torch.bool else flat


def _pieces(*tensors):
    flats = [_flat(tensor) for tensor in tensors]
    for start in range(0, flats[0].numel(), _CHUNK):
        yield start, [flat[start : start + _CHUNK] for flat in flats]


def is_inexact(dtype):
    return dtype.is_floating_point or dtype.is_complex


def _wide(dtype):
    return torch.float64 if dtype in (torch.float64, torch.complex128) else torch.float32


def root_mean_square(tensor):
    """Over the finite elements; 0 for none."""
    total, count = 0.0, 0
    for _, (piece,) in _pieces(tensor):
        piece = piece.to(torch.float64 if tensor.dtype == torch.float64 else torch.float32)
        finite = piece.isfinite()
        total += float(torch.where(finite, piece, 0).square().sum(dtype=torch.float64))
        count += int(finite.sum())
    return math.sqrt(total / count) if count else 0.0


def largest(tensor):
    """The largest finite |element|; 0 for none."""
    found = 0.0
    for _, (piece,) in _pieces(tensor):
        piece = piece.to(torch.float64).abs()
        found = max(found, float(torch.where(piece.isfinite(), piece, 0).max()))
    return found


def count_where(tensor, predicate):
    """(how many elements fulfil the predicate, flat index of the first or None)."""
    count, first = 0, None
    for start, (piece,) in _pieces(tensor):
        hits = predicate(piece if piece.dtype.itemsize > 1 or not piece.dtype.is_floating_point else piece.float())
        here = int(hits.sum())
        if here and first is None:
            first = start + int(hits.to(torch.uint8).argmax())
        count += here
    return count, first


def deviation(output, expected, rtol, atol):
    """The Deviation of floating or complex tensors of one shape under |o - e| <= atol + rtol |e|.

    NaN agrees with NaN, and an infinity with the same one. Indices of complex tensors count real numbers.
    """
    if not expected.numel():
        return Deviation()
    wide, found = _wide(expected.dtype), Deviation()
    flats = _flat(output), _flat(expected)
    in_one_pass = fused.compares(*flats)
    maxima = fused.largest_ratios(*flats, rtol, atol, _CHUNK) if in_one_pass else _maxima(*flats, rtol, atol, wide)
    # The kernel divides with another rounding: what is close to the limit is looked at like what is beyond.
    surely_within = 1 - 1e-5 if in_one_pass else 1
    # One transfer for all pieces. The maximum of a piece with a NaN is none: a close look decides there.
    for at, value in enumerate(maxima.tolist()):
        start = at * _CHUNK
        if value <= surely_within:
            if value > found.error or found.worst is None:
                found.error = max(found.error, value)
            continue
        got, wanted = (flat[start : start + _CHUNK].to(wide) for flat in flats)
        _look_closely(found, start, got, wanted, rtol, atol)
    return found


def _maxima(output, expected, rtol, atol, wide):
    pieces = _pieces(output, expected)
    return torch.stack([_ratio(got.to(wide), wanted.to(wide), rtol, atol).max() for _, (got, wanted) in pieces])


def agrees_in_one_pass(largest_ratios, dtype, device):
    """Whether a function of `fused` finds what is found here, NaN and infinities included."""
    size = _CHUNK + 3 * fused.STRETCH // 2 + 5
    generator = torch.Generator(device).manual_seed(1)
    wanted = torch.randn(size, generator=generator, device=device).to(dtype)
    got = wanted * (1 + 1e-2 * torch.rand(size, generator=generator, device=device)).to(dtype)
    for values in ((), (math.nan,), (math.inf,)):
        for at, value in enumerate(values):
            got[_CHUNK + at] = value
        theirs = largest_ratios(got, wanted, 1e-2, 1e-3, _CHUNK)
        ours = _maxima(got, wanted, 1e-2, 1e-3, torch.float32)
        ours = torch.where(ours.isnan(), math.inf, ours)
        if not torch.allclose(theirs, ours, rtol=1e-5, atol=0):
            return False
    return True


def _ratio(got, wanted, rtol, atol):
    limit = wanted.abs().mul_(rtol).add_(atol)
    return (got - wanted).abs_().div_(limit)


def _look_closely(found, start, got, wanted, rtol, atol):
    unwritten = got.isnan() & ~wanted.isnan()
    same = (got == wanted) | (got.isnan() & wanted.isnan())
    ratio = _ratio(got, wanted, rtol, atol)
    ratio = torch.where(same, 0.0, torch.where(ratio.isnan(), math.inf, ratio))
    found.off += int((ratio > 1).sum())
    worst = float(ratio.max())
    if worst > found.error:
        found.error, found.worst = worst, start + int(ratio.argmax())
    here = int(unwritten.sum())
    if here and found.first_unwritten is None:
        found.first_unwritten = start + int(unwritten.to(torch.uint8).argmax())
    found.unwritten += here


def deviation_exact(output, expected):
    """The same for integers and bool: every difference is beyond the limit."""
    found = Deviation()
    for start, (got, wanted) in _pieces(output, expected):
        differs = got != wanted
        here = int(differs.sum())
        if here and found.worst is None:
            found.worst, found.error = start + int(differs.to(torch.uint8).argmax()), math.inf
        found.off += here
    return found


def distance(tensor, truth):
    """max |tensor - truth| in float64; infinite where one is not finite and the other is not the same."""
    found = 0.0
    for _, (got, wanted) in _pieces(tensor, truth):
        got, wanted = got.to(torch.float64), wanted.to(torch.float64)
        same = (got == wanted) | (got.isnan() & wanted.isnan())
        gap = (got - wanted).abs_()
        gap = torch.where(same, 0.0, torch.where(gap.isnan(), math.inf, gap))
        found = max(found, float(gap.max()))
    return found
