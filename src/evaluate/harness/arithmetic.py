"""Which of torch's operators the candidate's own code calls to compute, whatever it calls them by.

An operator is the candidate's if its code is met on the stack before the harness's, whatever lies in between: Python's
own functions, torch's, Triton's. What Triton's launcher and autotuner do with tensors by themselves is memory only.
What torch does by itself on the way back through a graph has only the harness above it.
"""
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from triton.runtime.autotuner import Autotuner

from .audits import CANDIDATE, HARNESS, MADE, line_in, owner_of

_getframe = sys._getframe
_MEASURES = Autotuner._bench.__code__

# Memory, constants, views, copies and questions. What is not here computes.
_HARMLESS = frozenset(
    """
    _local_scalar_dense _pin_memory _reshape_alias _to_copy _unsafe_view alias arange as_strided as_strided_ broadcast_to
    chunk clone contiguous copy copy_ data detach detach_ diagonal dim empty empty_like empty_permuted
    empty_strided equal expand expand_as fill fill_ flatten full full_like is_contiguous is_pinned is_same_size
    item lift lift_fresh lift_fresh_copy movedim narrow new_empty new_empty_strided new_full new_ones new_zeros
    numel ones ones_like permute pin_memory prim record_stream reshape resize_ scalar_tensor select set_ slice
    split split_with_sizes squeeze squeeze_ stride swapaxes t to transpose transpose_ unbind unflatten unfold
    unsqueeze unsqueeze_ view view_as view_as_complex view_as_real zero_ zeros zeros_like size sym_size
    sym_stride sym_numel sym_storage_offset storage_offset values_copy
    """.split()
)
# Tensors below this share of the largest argument are sizes, offsets, scales: not the work. Unless there are many of
# them: this share of it in one call is work, and more than a few single numbers.
_SHARE, _SHARE_TOGETHER, _FEW = 64, 4, 64


class Arithmetic(TorchDispatchMode):
    """While it is entered, `found` collects [{"what", "line"}] for the candidate in the file `path`; in one call and
    its backward pass, for which it may be entered again."""

    def __init__(self, path, arguments):
        super().__init__()
        largest = max((tensor.numel() for tensor in arguments), default=0)
        self._path, self._least = path, max(largest // _SHARE, 2)
        self._together, self._enough = 0, max(largest // _SHARE_TOGETHER, _FEW)
        self._measured = set()
        self.found = []

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else the first operator imports torch's compiler, which takes seconds

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function._schema.name.removeprefix("aten::")
        if name not in _HARMLESS:
            self._judge(name, _largest((args, kwargs or {}, result)))
        return result

    def _judge(self, name, size):
        called, line = self._called_at() if size else (False, None)
        if not called:
            return
        if self._is_measured():
            # What is done for every launch is done a thousand times where the autotuner measures: it counts once.
            if (name, line, size) in self._measured:
                return
            self._measured.add((name, line, size))
        self._together += size
        if size >= self._least:
            self._tell(f"computes with torch's operator {name} outside its Triton kernels", line)
        elif self._together >= self._enough:
            self._tell(f"computes in many small pieces, with torch's operator {name} among others, outside its"
                       " Triton kernels", line)

    def _tell(self, what, line):
        told = {"what": what, "line": line}
        if told not in self.found:
            self.found.append(told)

    def _called_at(self):
        """Whether the candidate called, and the line of its file, if one led here."""
        frame = _getframe(2).f_back  # there may be none: on a GPU the way back has a thread of its own
        while frame is not None:
            owner = owner_of(frame, self._path)
            if owner in (CANDIDATE, MADE):
                return True, line_in(frame, self._path)
            if owner == HARNESS:
                return False, None
            frame = frame.f_back
        return False, None


    def _is_measured(self):
        """Whether Triton's autotuner compares configurations, one of which led here."""
        frame = _getframe(2).f_back
        while frame is not None and frame.f_code is not _MEASURES:
            frame = frame.f_back
        return frame is not None


def _largest(nest):
    """Elements of the largest tensor in it."""
    if isinstance(nest, torch.Tensor):
        return nest.numel()
    if isinstance(nest, dict):
        nest = nest.values()
    return max(map(_largest, nest), default=0) if isinstance(nest, _NESTS) else 0


_NESTS = (list, tuple, type({}.values()))
