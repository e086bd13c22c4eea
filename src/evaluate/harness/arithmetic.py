"""Which of torch's operators the candidate's own code calls to compute, whatever it calls them by."""
import os
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_getframe = sys._getframe
_TORCH = os.path.dirname(torch.__file__) + os.sep

# Memory, constants, views, copies and questions. What is not here computes.
_HARMLESS = frozenset(
    """
    _local_scalar_dense _reshape_alias _to_copy _unsafe_view alias arange as_strided as_strided_ broadcast_to
    chunk clone contiguous copy copy_ data detach detach_ diagonal dim empty empty_like empty_permuted
    empty_strided equal expand expand_as fill fill_ flatten full full_like is_contiguous is_pinned is_same_size
    item lift lift_fresh lift_fresh_copy movedim narrow new_empty new_empty_strided new_full new_ones new_zeros
    numel ones ones_like permute pin_memory prim record_stream reshape resize_ scalar_tensor select set_ slice
    split split_with_sizes squeeze squeeze_ stride swapaxes t to transpose transpose_ unbind unflatten unfold
    unsqueeze unsqueeze_ view view_as view_as_complex view_as_real zero_ zeros zeros_like size sym_size
    sym_stride sym_numel sym_storage_offset storage_offset values_copy
    """.split()
)
# Tensors below this share of the largest argument are sizes, offsets, scales: not the work.
_SHARE = 64


class Arithmetic(TorchDispatchMode):
    """While it is entered, `found` collects [{"what", "line"}] for the candidate in the file `path`."""

    def __init__(self, path, arguments):
        super().__init__()
        largest = max((tensor.numel() for tensor in arguments), default=0)
        self._path, self._least = path, max(largest // _SHARE, 2)
        self.found = []

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else the first operator imports torch's compiler, which takes seconds

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function._schema.name.removeprefix("aten::")
        if name not in _HARMLESS and self._is_work((args, kwargs or {}, result)):
            line = self._called_at()
            told = {"what": f"computes with torch's operator {name} outside its Triton kernels", "line": line}
            if line is not None and told not in self.found:
                self.found.append(told)
        return result

    def _is_work(self, nest):
        if isinstance(nest, torch.Tensor):
            return nest.numel() >= self._least
        if isinstance(nest, dict):
            nest = nest.values()
        return isinstance(nest, (list, tuple, type({}.values()))) and any(map(self._is_work, nest))

    def _called_at(self):
        """The line of the candidate's file that called; None if other code than torch stands between."""
        frame = _getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith((_TORCH, __file__)):
            frame = frame.f_back
        return frame.f_lineno if frame is not None and frame.f_code.co_filename == self._path else None
