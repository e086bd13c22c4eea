"""Fingerprints of memory: a change of any single word changes them, and so, but for a chance of about
one in 2^63, does any other change, since the weights are drawn anew in every process.
"""

import os

import torch

from . import fused

_CHUNK = 1 << 22  # words; 32 MiB stays in the L2 cache of a data-centre GPU
_secret = int.from_bytes(os.urandom(8)) >> 1
_weights = {}


def _weights_on(device):
    if device not in _weights:
        generator = torch.Generator().manual_seed(_secret)
        weights = torch.randint(-(1 << 63), (1 << 63) - 1, (_CHUNK,), generator=generator, dtype=torch.int64)
        _weights[device] = (weights | 1).to(device)
    return _weights[device]


def fingerprint(memory):
    """A 64-bit integer for a flat uint8 tensor; reads it once, in pieces."""
    whole = memory.numel() // 8 * 8
    words = memory[:whole].view(torch.int64)
    weights = _weights_on(memory.device)
    total = fused.weighted_sum(words, weights) if fused.sums(words) and whole else _weighted_sum(words, weights)
    tail = bytes(memory[whole:].tolist())
    return hash((total, memory.numel(), tail))


def _weighted_sum(words, weights):
    sums = []
    for at, start in enumerate(range(0, words.numel(), _CHUNK)):
        chunk = words[start : start + _CHUNK]
        # The sum over a chunk wraps around; the odd factor tells chunks apart.
        sums.append((chunk * weights[: chunk.numel()]).sum() * (2 * at + 1))
    return int(torch.stack(sums).sum()) if sums else 0


def agrees_in_one_pass(weighted_sum, device):
    """Whether a function of `fused` gives the sums of this module."""
    weights = _weights_on(device)
    words = torch.arange(2 * _CHUNK + fused.STRETCH + 3, device=device) * 0x1E3779B97F4A7C15  # wraps around
    return weighted_sum(words, weights) == _weighted_sum(words, weights)


def fingerprint_tensor(tensor):
    """The fingerprint of all memory that a tensor spans."""
    from .nest import span

    flat = span(tensor)
    return fingerprint(flat.view(torch.uint8)) if flat.numel() else 0
