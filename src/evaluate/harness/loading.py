"""Importing a candidate's source: alone, or under its own name amid the rest of its package."""
import importlib
import importlib.machinery
import importlib.util
import os
import sys

from .blame import describe, line_of
from .kernels import kernels_of
from .wire import Failure

STANDALONE = "kernelbrain_candidate"


class Candidate:
    """An imported candidate: `module` is its own, `entry`, found under `name`, is what is called, `path`
    is where its source is."""

    def __init__(self, module, entry, name, path):
        self.module, self.entry, self.name, self.path = module, entry, name, path

    def kernels(self):
        """Names of the Triton functions that the source defines."""
        return [kernel.__name__ for kernel in kernels_of(self.module)]


class _Loader(importlib.machinery.SourceFileLoader):
    """Code from the candidate's file; `__file__` says where the original is, so that what the module
    looks for beside itself is found there."""

    def __init__(self, name, path, origin):
        super().__init__(name, path)
        self._origin = origin

    def exec_module(self, module):
        module.__file__ = self._origin
        super().exec_module(module)


class _Finder:
    """Answers for one module name only."""

    def __init__(self, name, path, origin):
        folder = os.path.dirname(origin) if os.path.basename(origin) == "__init__.py" else None
        self._spec = importlib.util.spec_from_file_location(
            name,
            path,
            loader=_Loader(name, path, origin),
            submodule_search_locations=None if folder is None else [folder],
        )
        self._name = name

    def find_spec(self, name, path=None, target=None):
        return self._spec if name == self._name else None


def load(request):
    """The candidate that a `load` request names."""
    path, name = request["path"], request["module"] or STANDALONE
    sys.path[:0] = [folder for folder in request["sys_path"] if folder not in sys.path]
    if name in sys.modules:
        raise Failure("import", f"the module {name} is a part of torch, triton or the harness and cannot be replaced")
    finder = _Finder(name, path, request.get("origin") or path)
    sys.meta_path.insert(0, finder)
    try:
        module = importlib.import_module(name)
        holder = importlib.import_module(request["entry_module"]) if request["entry_module"] else module
    except BaseException as error:  # SystemExit too: it must not end the conversation
        raise Failure("import", describe(error), line=line_of(error, path)) from None
    for wanted in request["entries"]:
        entry = holder
        for part in wanted.split("."):
            entry = getattr(entry, part, None)
        if callable(entry):
            return Candidate(module, entry, wanted, path)
    wanted = " or ".join(request["entries"])
    raise Failure("entry", f"{holder.__name__} defines no {wanted}: the contract calls it")
