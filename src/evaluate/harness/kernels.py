"""The Triton functions of a module, below their decorators."""
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

_FUNCTIONS = (JITFunction, InterpretedFunction)
_DECORATORS = (Autotuner, Heuristics)


def kernels_of(module):
    """What @triton.jit made of the functions that the module itself defines, in its order."""
    found = []
    for value in vars(module).values():
        while isinstance(value, _DECORATORS):
            value = value.fn
        if isinstance(value, _FUNCTIONS) and value.fn.__module__ == module.__name__ and value not in found:
            found.append(value)
    return found
