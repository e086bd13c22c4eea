"""Comparisons and fingerprints in one pass over memory each, for the referee on a GPU.

With torch's operations a comparison of two tensors of gigabytes passes over ten temporaries, all of it in
the GPU turn. The kernels here give what `agreement` and `fingerprint` compute: they are held against those
before their first use, and without them (no compiler, another result) torch does the work.
"""
import torch
import triton
import triton.language as tl

_BLOCK = 4096
_ROUNDS = 16
STRETCH = _BLOCK * _ROUNDS  # what one program looks at
_NARROW = (torch.bfloat16, torch.float16, torch.float32)
_WORTH_IT = 1 << 22  # elements; with fewer, torch takes no time either
_checks = {}  # by device
_trusted = {}  # by device and dtype, torch.int64 for fingerprints: whether the check was passed


@triton.jit(do_not_specialize=["rtol", "atol"])
def _largest_ratios(got, wanted, largest, rtol, atol, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK * ROUNDS
    seen = tl.zeros((BLOCK,), dtype=tl.float32)
    for turn in range(ROUNDS):
        at = start + turn * BLOCK + tl.arange(0, BLOCK)
        a, b = tl.load(got + at).to(tl.float32), tl.load(wanted + at).to(tl.float32)
        ratio = tl.abs(a - b) / (tl.abs(b) * rtol + atol)
        seen = tl.maximum(seen, tl.where(ratio == ratio, ratio, float("inf")))  # NaN is for a close look
    tl.store(largest + tl.program_id(0), tl.max(seen, axis=0))


@triton.jit
def _weighted_sums(words, weights, sums, CHUNK: tl.constexpr, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK * ROUNDS
    seen = tl.zeros((BLOCK,), dtype=tl.int64)
    for turn in range(ROUNDS):
        at = turn * BLOCK + tl.arange(0, BLOCK)
        seen += tl.load(words + start + at) * tl.load(weights + start % CHUNK + at)
    factor = 2 * (start // CHUNK) + 1
    tl.store(sums + tl.program_id(0), tl.sum(seen, axis=0) * factor)


def largest_ratios(got, wanted, rtol, atol, piece):
    """The largest |got - wanted| / (atol + rtol |wanted|) of each `piece` (a multiple of STRETCH) of two flat
    tensors; infinite where one is NaN."""
    whole, pieces = got.numel() // STRETCH, -(-got.numel() // piece)
    largest = torch.zeros(pieces * (piece // STRETCH), dtype=torch.float32, device=got.device)
    if whole:
        _largest_ratios[(whole,)](got, wanted, largest, float(rtol), float(atol), BLOCK=_BLOCK, ROUNDS=_ROUNDS)
    if got.numel() > whole * STRETCH:
        a, b = (tensor[whole * STRETCH :].float() for tensor in (got, wanted))
        ratio = (a - b).abs_() / b.abs().mul_(rtol).add_(atol)
        largest[whole] = torch.where(ratio.isnan(), float("inf"), ratio).max()
    return largest.view(pieces, -1).amax(1)


def weighted_sum(words, weights):
    """The sum of words times weights, which repeat, times an odd number that grows with each repetition;
    wraps around. The weights are a multiple of STRETCH."""
    whole = words.numel() // STRETCH
    sums = torch.zeros(whole + 1, dtype=torch.int64, device=words.device)
    if whole:
        _weighted_sums[(whole,)](words, weights, sums, CHUNK=weights.numel(), BLOCK=_BLOCK, ROUNDS=_ROUNDS)
    rest = words[whole * STRETCH :]
    chunk, start = divmod(whole * STRETCH, weights.numel())
    sums[whole] = (rest * weights[start : start + rest.numel()]).sum() * (2 * chunk + 1)
    return int(sums.sum())


def enable(device, check_ratios, check_sums):
    """Lets the kernels be used on `device`, once a check has held them against what torch computes:
    `check_ratios(largest_ratios, dtype, device)` and `check_sums(weighted_sum, device)`, made at the first use,
    which compiles."""
    _checks[device] = check_ratios, check_sums


def compares(tensor, other):
    """Whether two flat tensors can be compared here."""
    alike = tensor.dtype == other.dtype and tensor.dtype in _NARROW
    return alike and tensor.numel() >= _WORTH_IT and _is_trusted(tensor.device, tensor.dtype)


def sums(words):
    """Whether the weighted sum of a flat tensor can be computed here."""
    return words.numel() >= _WORTH_IT and _is_trusted(words.device, torch.int64)


def _is_trusted(device, dtype):
    if (device, dtype) not in _trusted:
        _trusted[device, dtype] = device in _checks and _agrees(device, dtype)
    return _trusted[device, dtype]


def _agrees(device, dtype):
    check_ratios, check_sums = _checks[device]
    try:
        if dtype == torch.int64:
            return check_sums(weighted_sum, device)
        return check_ratios(largest_ratios, dtype, device)
    except Exception as error:  # slower, and as right
        print(f"comparing with torch's own operations: {type(error).__name__}: {error}", flush=True)
        return False
