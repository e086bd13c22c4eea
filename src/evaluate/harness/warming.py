"""What the first use of a device waits for, done before the GPU turn: torch loads each of its kernels when
it is first launched, and Triton makes its driver and imports half of itself.

The launches are of a few elements and take microseconds; the candidate's own kernels are not among them.
"""
import contextlib
import importlib

import torch
from triton.runtime.driver import driver

from . import codec
from .timing import time_call

_FEW = 32
# So much that what flushes a cache goes through memory in steps, as it will; bytes.
_LINES = 4096


def warm_up(device, dtypes):
    """Uses what poisoning, timing and copying of tensors of `dtypes` (names) will use.

    What fails here fails again in the call, and is reported there.
    """
    for use in (lambda: _use_torch(device, dtypes), _use_triton):
        with contextlib.suppress(Exception):
            use()
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def _use_torch(device, dtypes):
    bytes_ = torch.full((_FEW,), 0xFF, dtype=torch.uint8, device=device)
    for kind in (torch.uint8, torch.int64):
        torch.equal(bytes_.view(kind), bytes_.clone().view(kind))  # of one and the same it does not look
    for name in dtypes:
        tensor = torch.empty((4, 8), dtype=codec.dtype_of(name), device=device)
        tensor.copy_(torch.zeros_like(tensor))
        # A copy between layouts is a kernel of its own.
        tensor.copy_(torch.zeros((8, 4), dtype=tensor.dtype, device=device).t())
    time_call(bytes_.zero_, device, warmup=1, repeat=1, flush_bytes=_LINES)


def _use_triton():
    driver.active.get_current_target()
    driver.active.get_current_stream(driver.active.get_current_device())
    importlib.import_module("triton.experimental.gluon.nvidia.hopper")
