"""Contracts, told apart by what their file defines."""

from pathlib import Path

from ..wire import Failure
from .gpu_mode import GpuMode
from .kernel_bench import KernelBench
from .native import Native
from .shorthand import Shorthand
from .source import Names

# Names that a file may define for each form. The first in which a file has them all is its form.
_FORMS = [
    (Native, ("CASES", "make_inputs", "reference")),
    (Native, ("SMALL_CASES", "make_inputs", "reference")),
    (Shorthand, ("SHAPES", "DTYPES", "make_inputs", "reference")),
    (Shorthand, ("SMALL_SHAPES", "DTYPES", "make_inputs", "reference")),
    (KernelBench, ("Model", "get_inputs", "get_init_inputs")),
    (GpuMode, ("ref_kernel", "generate_input", "check_implementation")),
]
_FORMS_IN_WORDS = (
    "a contract defines CASES, make_inputs and reference; or SHAPES, DTYPES, make_inputs and reference; or Model, "
    "get_inputs and get_init_inputs (here or in a problem.py beside it); or is the folder of a gpu-mode task"
)


def open_contract(path, device):
    """The Contract in `path` (a Python file, a task folder or a task.yml) for `device`."""
    path = Path(path).resolve()
    if not path.exists():
        raise Failure("contract", f"{path} does not exist", path)
    if path.is_dir():
        path = _in_folder(path)
    if path.suffix in (".yml", ".yaml"):
        return GpuMode(_beside(path, "reference.py"), device)
    names = Names(path)
    form, own = _form_of(names)
    problem = path.with_name("problem.py")
    if not own and problem != path and problem.exists():
        beside, _ = _form_of(Names(problem))
        if beside is not None:
            return beside(problem, device)
    if form is None:
        raise _no_form(path, names)
    return form(path, device)


def _in_folder(folder):
    for name in ("task.yml", "task.yaml", "test.py", "problem.py", "reference.py"):
        if (folder / name).exists():
            return folder / name
    raise Failure("contract", f"{folder} has neither a task.yml nor a test.py, problem.py or reference.py", folder)


def _beside(path, name):
    other = path.with_name(name)
    if not other.exists():
        raise Failure("contract", f"there is no {name} beside {path.name}: a gpu-mode task needs both", path)
    return other


def _form_of(names):
    """The form that a file has all names of, and whether at least one of them is not imported."""
    for form, needed in _FORMS:
        if all(name in names for name in needed):
            return form, any(names.defines(name) for name in needed)
    if names.star:  # the rest may come with it; the form says what is missing
        nearest = _nearest(names)
        return (_FORMS[nearest][0], True) if nearest is not None else (None, False)
    return None, False


def _nearest(names):
    """Index of the form that a file has most names of; None when it has none at all."""
    found = [sum(name in names for name in needed) for _, needed in _FORMS]
    return found.index(max(found)) if any(found) else None


def _no_form(path, names):
    """What the nearest form has that the file lacks."""
    nearest = _nearest(names)
    if nearest is None:
        return Failure("contract", f"{path.name} is no contract: {_FORMS_IN_WORDS}", path)
    needed = _FORMS[nearest][1]
    present = [name for name in needed if name in names]
    missing = [name for name in needed if name not in names]
    message = f"{path.name} defines {', '.join(present)} but lacks {' and '.join(missing)}: {_FORMS_IN_WORDS}"
    return Failure("contract", message, path, min(names.lines[name] for name in present))
