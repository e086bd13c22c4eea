"""Reading and running the contract's own files, so that whatever is wrong with them names file and line."""

import ast
import contextlib
import importlib.util
import os
import sys
import traceback
import types
from pathlib import Path

import torch

from ..buffers import OutOfMemory
from ..wire import Failure

_NO_CPU_MEMORY = ("can't allocate memory", "not enough memory")


def is_out_of_memory(error):
    if isinstance(error, (torch.OutOfMemoryError, MemoryError, OutOfMemory)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _NO_CPU_MEMORY)


def _refuse_exit(status=0):
    raise SystemExit(status)


def _line_in(folder, error):
    """File and line of the innermost frame in the contract's own folder."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return error.filename, error.lineno
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == folder]
    return (own[-1].filename, own[-1].lineno) if own else (None, None)


def _describe(error):
    if isinstance(error, SystemExit):
        return f"it ends the process (exit status {error.code})"
    return f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def foreign(path, what):
    """Around the contract's own code: what it raises becomes an error of the contract.

    An attempt to end the process counts as one, too. Lack of memory passes through.
    """
    end, os._exit = os._exit, _refuse_exit
    try:
        yield
    except Failure:
        raise
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise
        file, line = _line_in(path.parent, error)
        raise Failure("contract", f"{what}: {_describe(error)}", file or path, line) from None
    finally:
        os._exit = end


def read_text(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        message = f"{path.name} is not UTF-8 (byte {error.start}): save it as UTF-8"
        raise Failure("contract", message, path, line) from None
    except OSError as error:
        raise Failure("contract", f"{path} cannot be read: {error.strerror}", path) from None


class Names:
    """The top-level names of a file, found without running it."""

    def __init__(self, path):
        with foreign(path, f"{path.name} is not valid Python"):
            self._body = ast.parse(read_text(path), str(path)).body
        self.lines = {}  # of definitions and imports
        self._defined = set()
        for node in self._body:
            for name in self._bound(node):
                self.lines.setdefault(name, node.lineno)
                if not isinstance(node, (ast.Import, ast.ImportFrom)):
                    self._defined.add(name)
        self.star = "*" in self.lines  # may have any name

    def __contains__(self, name):
        return name in self.lines

    def defines(self, name):
        """Whether the file has the name as its own, not imported."""
        return name in self._defined

    @staticmethod
    def _bound(node):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return [node.name]
        if isinstance(node, ast.Assign):
            targets = [item for target in node.targets for item in ast.walk(target)]
            return [item.id for item in targets if isinstance(item, ast.Name)]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            return [node.target.id]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return [alias.asname or alias.name.split(".")[0] for alias in node.names]
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            inner = [item for field in ("body", "orelse", "finalbody") for item in getattr(node, field, [])]
            return [name for item in inner for name in Names._bound(item)]
        return []


def import_file(path, name):
    """Runs `path` as module `name`, with its folder first on sys.path; nothing is written beside it."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with foreign(path, f"{path.name} does not import"), _without_candidates(path.parent):
        spec.loader.exec_module(module)
    return module


# What test files call the file of the candidate that they import.
_CANDIDATES = ("kernel", "input_kernel", "input", "submission")


@contextlib.contextmanager
def _without_candidates(folder):
    """A contract may import the candidate for its own use; here it gets a module without code instead."""
    stubs = {}
    for name in _CANDIDATES:
        found = importlib.util.find_spec(name) if name not in sys.modules else None
        elsewhere = found is not None and found.origin and Path(found.origin).parent != folder
        if name not in sys.modules and not elsewhere:
            stubs[name] = sys.modules[name] = types.ModuleType(name)
            stubs[name].__getattr__ = _attribute_of_candidate
    try:
        yield
    finally:
        for name in stubs:
            sys.modules.pop(name, None)


def _attribute_of_candidate(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _refuse_candidate


def _refuse_candidate(*_, **__):
    raise RuntimeError("a contract cannot call the candidate: it runs in another process")
