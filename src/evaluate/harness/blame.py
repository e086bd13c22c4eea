"""What went wrong in a candidate: kind, text and line for an answer."""
import torch
from triton import InterpreterError
from triton.compiler.errors import CompilationError
from triton.runtime.errors import AutotunerError, OutOfResources, PTXASError
from triton.runtime.jit import JITFunction, get_jit_fn_file_line

from .kernels import kernels_of
from .wire import Failure

_REFUSED = (CompilationError, OutOfResources, PTXASError, AutotunerError)
_NO_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory")


def describe(error):
    """Type and text of an exception; where it has no text, of the one that it was raised from."""
    name, text = type(error).__name__, str(error).strip()
    if not text and error.__cause__ is not None:
        return f"{name} from {describe(error.__cause__)}"
    return f"{name}: {text}" if text else name


def line_of(error, path, module=None):
    """The last line of the file `path` that led to `error`; its innermost cause knows best."""
    line, seen = None, set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        line = _line_in_kernel(error, module) or _line_in_trace(error, path) or line
        error = error.__cause__
    return line


def _line_in_trace(error, path):
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _line_in_kernel(error, module):
    """Triton counts from the `def` of the function that it compiles, and names it by its source only."""
    if module is None or not isinstance(error, CompilationError) or error.node is None:
        return None
    for kernel in kernels_of(module):
        if isinstance(kernel, JITFunction) and kernel.src == error.src:
            _, start = get_jit_fn_file_line(kernel)
            return start + error.node.lineno - 1
    return None


def failure(error, candidate, device):
    """The Failure for an exception that the candidate's code raised."""
    text = describe(error)
    if isinstance(error, InterpreterError):
        text += "; Triton's interpreter stands in for a GPU here, and does not know all that a GPU's compiler does"
    return Failure(_kind(error, device), text, line=line_of(error, candidate.path, candidate.module))


def _kind(error, device):
    if device != "cpu" and torch.cuda.is_initialized() and _context_is_lost(device):
        return "cuda"
    if isinstance(error, _REFUSED):
        return "compile"
    text = str(error).lower()
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(part in text for part in _NO_MEMORY):
        return "out_of_memory"
    return "call"


def _context_is_lost(device):
    """After an illegal access or a failed assertion every later call of the driver fails too."""
    try:
        torch.cuda.synchronize(device)
    except Exception:
        return True
    return False
