"""The modules `utils` and `task` that the reference.py of a gpu-mode task imports.

They come from the files that task.yml lists or that lie in the task's folder; where there are none,
from here: the few helpers that references use of them.
"""

import contextlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import torch

from .base import seed_everything


def provide_modules(folder, files, foreign):
    """Puts `utils` and `task` in sys.modules. `files` is the list of task.yml."""
    listed = {Path(str(f.get("name"))).stem: f.get("source") for f in files if isinstance(f, dict)}
    for name, make in (("utils", _utils), ("task", _task)):
        path = folder / f"{name}.py"
        if not path.exists() and isinstance(listed.get(name), str):
            path = folder / listed[name]
        if not path.exists():
            sys.modules[name] = make()
            continue
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        with foreign(f"{path.name} does not import"):
            spec.loader.exec_module(module)


def verbose_allclose(received, expected, rtol=1e-5, atol=1e-8, max_print=5):
    """Complaints about where `received` differs from `expected`; none when it agrees."""
    if received.shape != expected.shape:
        return [f"shape {tuple(received.shape)} instead of {tuple(expected.shape)}"]
    off = (~torch.isclose(received, expected.to(received.dtype), rtol=rtol, atol=atol, equal_nan=True)).nonzero()
    if not len(off):
        return []
    shown = [
        f"{tuple(i)}: {received[tuple(i)].item()} instead of {expected[tuple(i)].item()}"
        for i in off[:max_print].tolist()
    ]
    return [f"{len(off)} elements differ", *shown]


def verbose_allequal(received, expected, max_print=5):
    return verbose_allclose(received, expected, rtol=0, atol=0, max_print=max_print)


def match_reference(data, output, reference, rtol=1e-5, atol=1e-8):
    """(agrees, complaints) for `output` against reference(data)."""
    complaints = verbose_allclose(output, reference(data), rtol=rtol, atol=atol)
    return not complaints, "; ".join(complaints)


def make_match_reference(reference, **tolerance):
    return lambda data, output: match_reference(data, output, reference, **tolerance)


@contextlib.contextmanager
def deterministic_context():
    """cuDNN without TF32 and with deterministic algorithms."""
    flags = torch.backends.cudnn
    before = flags.allow_tf32, flags.deterministic
    flags.allow_tf32, flags.deterministic = False, True
    try:
        yield
    finally:
        flags.allow_tf32, flags.deterministic = before


def get_device(use_cuda=True):
    return torch.device("cuda" if use_cuda else "cpu")


def _utils():
    module = types.ModuleType("utils")
    for helper in (verbose_allclose, verbose_allequal, match_reference, make_match_reference, get_device):
        setattr(module, helper.__name__, helper)
    module.DeterministicContext = deterministic_context
    module.set_seed = seed_everything
    return module


def _task():
    """Names in task.py are types that only annotate, so any name will do."""
    module = types.ModuleType("task")
    module.__getattr__ = lambda name: Any if not name.startswith("__") else _no_attribute(name)
    return module


def _no_attribute(name):
    raise AttributeError(name)
