"""What a candidate does to its own process besides answering: functions replaced, settings changed, threads,
processes, files, frames.

The verdict does not rest on any of these functions, which is why tampering gains nothing; but code that
tries has no place in a kernel, and a caller's process would suffer from it. Everything used here is bound
before a candidate is imported.
"""
import _thread
import builtins
import gc
import importlib
import math
import operator
import os
import sys
import time
import types

import numpy
import torch
import triton
from triton.runtime import autotuner, jit

from . import audits

_id, _list, _isinstance, _callable, _getattr = id, list, isinstance, callable, getattr
_vars, _environ, _listdir, _initial_seed = vars, os.environ, os.listdir, torch.initial_seed

# Beside these, every module of the harness itself and their classes, with all that is in them.
_NAMESPACES = [
    ("torch", torch),
    ("torch.Tensor", torch.Tensor),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.linalg", torch.linalg),
    ("torch.random", torch.random),
    ("torch.testing", torch.testing),
    ("torch.cuda", torch.cuda),
    ("torch.cuda.Event", torch.cuda.Event),
    ("torch.cuda.Stream", torch.cuda.Stream),
    ("torch.autograd", torch.autograd),
    ("numpy", numpy),
    ("numpy.testing", importlib.import_module("numpy.testing")),
    ("triton", triton),
    ("triton.testing", importlib.import_module("triton.testing")),
    ("triton.JITFunction", jit.JITFunction),
    ("triton.Autotuner", autotuner.Autotuner),
    ("time", time),
    ("math", math),
    ("operator", operator),
    ("os", os),
    ("gc", gc),
    ("builtins", builtins),
]
_TORCH = os.path.dirname(torch.__file__) + os.sep

# Set by libraries when they are first used, or by terminals.
_OWN_VARIABLES = ("TRITON_", "TORCH", "CUDA_", "CUBLAS_", "KMP_", "OMP_", "LINES", "COLUMNS", "PYTORCH_")


class Witness:
    """`look()` says what has changed since it was made, or since the last look, in words for a rejection."""

    def __init__(self, path):
        """`path` is the candidate's file: what its code does is told from what it has others do."""
        self._audit = audits.Audit(path)
        self._namespaces = [(name, owner, _callables(owner)) for name, owner in _NAMESPACES]
        self._harness = [(name, owner, _members(owner)) for name, owner in _own()]
        self._modules = {name: _id(sys.modules[name]) for name in ("torch", "triton", "numpy", "time", "os", "sys")}
        self._settings = _settings()
        self._environment = dict(_environ)
        self._had_compiler = "torch._dynamo" in sys.modules

    def begin(self):
        """Settings as the call finds them; the caller may have changed them since."""
        self._settings = _settings()

    def look(self):
        """[{"what", "line" or None}]"""
        found = self._audit.take()
        found += [_told(f"replaced {name}") for name in self._replaced()]
        settings = _settings()
        for name, before in self._settings.items():
            if settings[name] != before:
                found.append(_told(f"changed {name} from {before} to {settings[name]}"))
        self._settings = settings
        changed = {name for name, _ in self._environment.items() ^ _environ.items()}
        found += [_told(f"changed the environment variable {n}") for n in sorted(changed) if not n.startswith(_OWN_VARIABLES)]
        self._environment = dict(_environ)
        return found

    def _replaced(self):
        names = []
        for at, (name, owner, before) in enumerate(self._namespaces):
            now = _vars(owner)
            changed = [key for key, value in before.items() if now.get(key) is not value]
            changed = [key for key in changed if not self._by_torch(now.get(key))]
            if _isinstance(owner, type):
                # A new attribute of a class may hide an inherited one.
                added = [key for key, value in _list(now.items()) if key not in before and _callable(value)]
                changed += [key for key in added if any(key in _vars(base) for base in owner.__mro__[1:])]
            if changed:
                names += [f"{name}.{key}" for key in changed]
                self._namespaces[at] = (name, owner, _callables(owner))
        for at, (name, owner, before) in enumerate(self._harness):
            now = _vars(owner)  # no copy: this is done at every call that is timed
            changed = [key for key, value in before.items() if now.get(key) is not value]
            # New names in a module are in nobody's way; in a class they stand before inherited ones.
            if _isinstance(owner, type):
                changed += [key for key in _list(now) if key not in before and key not in _LATER]
            if changed:
                names += [f"{name}.{key}" for key in changed]
                self._harness[at] = (name, owner, _members(owner))
        for name, identity in self._modules.items():
            if _id(sys.modules.get(name)) != identity:
                names.append(f"the module {name}")
                self._modules[name] = _id(sys.modules.get(name))
        return names

    def _by_torch(self, value):
        """Whether torch's compiler, imported since, has wrapped a function of torch, as it does with a few."""
        code = _getattr(value, "__code__", None)
        imported = not self._had_compiler and "torch._dynamo" in sys.modules
        return imported and code is not None and code.co_filename.startswith(_TORCH)


def _callables(owner):
    """Callable members by name, descriptors of a class among them."""
    return {
        key: value
        for key, value in _list(_vars(owner).items())
        if _callable(value) or (_isinstance(owner, type) and hasattr(value, "__get__"))
    }


def hide():
    """Takes the harness's modules, and the one that was started, out of where modules are looked up by name. They stay
    what they are for those who have them."""
    for name, _ in _modules():
        del sys.modules[name]
    sys.modules.pop(__package__, None)
    sys.modules["__main__"] = types.ModuleType("__main__")


def _modules():
    return [(name, module) for name, module in _list(sys.modules.items()) if name.startswith(f"{__package__}.")]


def _own():
    """The harness's modules and their classes, by name."""
    owners = []
    for name, module in _modules():
        owners.append((name, module))
        for value in _list(_vars(module).values()):
            if _isinstance(value, type) and value.__module__ == name:
                owners.append((f"{name}.{value.__qualname__}", value))
    return owners


def _members(owner):
    return {key: value for key, value in _list(_vars(owner).items()) if key not in _LATER}


# What Python itself adds to a class or module when it is asked for it.
_LATER = ("__annotations__", "__slotnames__", "__doc__", "__builtins__")


def _told(what, line=None):
    return {"what": what, "line": line}


_READERS = {
    "torch's gradient mode": torch.is_grad_enabled,
    "torch's default dtype": torch.get_default_dtype,
    "torch's default device": torch.get_default_device,
    "torch's number of threads": torch.get_num_threads,
    "torch's deterministic mode": torch.are_deterministic_algorithms_enabled,
    "torch's matmul precision": torch.get_float32_matmul_precision,
    "torch's TF32 setting": torch._C._get_cublas_allow_tf32,
    "cuDNN's TF32 setting": torch._C._get_cudnn_allow_tf32,
    "cuDNN's benchmark setting": torch._C._get_cudnn_benchmark,
    "torch's seed": _initial_seed,
    "the current folder": os.getcwd,
    "garbage collection": gc.isenabled,
    "the trace function": sys.gettrace,
    "the profile function": sys.getprofile,
    "the recursion limit": sys.getrecursionlimit,
    "the number of Python threads": _thread._count,
    "the number of child processes": lambda: _child_count(),
}


def _settings():
    return {name: read() for name, read in _READERS.items()}


def _child_count():
    count = 0
    for task in _listdir("/proc/self/task"):
        try:
            with _open(f"/proc/self/task/{task}/children") as listed:
                count += len(listed.read().split())
        except OSError:
            pass  # the task has ended, or the kernel has no such list
    return count


_open = open
