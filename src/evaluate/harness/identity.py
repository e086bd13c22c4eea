"""Which candidates are the same program.

On a GPU a program is what runs there and the host code around it: the compiled kernels (without line
numbers, which are switched off for every process), each launch in order with its grid, its scalars and
what its tensors look like, and the host source. Of that only what a launch does not show counts: comments,
layout, bodies of kernels, and constants that reach nothing but launches leave no trace.
In the interpreter a program is its source without comments and layout.

In doubt two programs differ: what cannot be described has no identity at all.
"""
import ast
import dataclasses
import hashlib
import json

import torch
from triton.runtime.jit import JITCallable

_ANYTHING = "…"  # stands for a constant that the launches show
# Calls between a constant and a launch that compute and do nothing else.
_ARITHMETIC = {"cdiv", "next_power_of_2", "min", "max", "int", "len", "tuple"}
_TRANSPARENT = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Lambda, ast.Dict, ast.keyword,
    ast.Starred,
)
# What a launcher hands to the driver besides the arguments.
_LAUNCHED_WITH = (
    "num_warps", "num_ctas", "shared", "cluster_dims", "launch_cooperative_grid", "launch_pdl", "global_scratch_size",
    "global_scratch_align", "profile_scratch_size", "profile_scratch_align",
)


class Unknown(Exception):
    """Something has no description by which it could be told from others."""


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


# --------------------------------------------------------------------------------------------- launches
def launch(function, kernel, binder, grid, arguments, keywords):
    """One launch as JSON; Unknown where an argument cannot be described."""
    bound, _, _ = binder(*arguments, **keywords)
    if callable(grid):
        grid = grid(bound)
    constants = {parameter.name for parameter in function.params if parameter.is_constexpr}
    return {
        "binary": hashlib.sha256(kernel.asm["cubin"]).hexdigest(),
        "with": [str(getattr(kernel.metadata, name, None)) for name in _LAUNCHED_WITH],
        "grid": [int(size) for size in grid],
        "arguments": [[name, _describe(value)] for name, value in bound.items() if name not in constants],
    }


def _describe(value):
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), list(value.shape), list(value.stride()), value.storage_offset(), str(value.device)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return [type(value).__name__, repr(value)]
    if isinstance(value, torch.dtype):
        return ["dtype", str(value)]
    if isinstance(value, JITCallable):
        return ["function", value.__name__]  # it is compiled into the binary
    if isinstance(value, (tuple, list)):
        return ["nest", [_describe(item) for item in value]]
    if dataclasses.is_dataclass(value):  # a tensor descriptor
        fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return [type(value).__name__, [_describe(field) for field in fields]]
    raise Unknown(type(value).__name__)


# ------------------------------------------------------------------------------------------ source text
def source(text):
    """A digest of Python source without comments, layout and docstrings."""
    return digest(_dump(_without_docstrings(ast.parse(text))))


def host_source(text):
    """A digest of what of Python source is not seen in the launches."""
    module = _without_docstrings(ast.parse(text))
    kernels = {node.name for node in ast.walk(module) if _is_kernel(node)}
    for node in ast.walk(module):
        if _is_kernel(node):
            node.body, node.args, node.returns = [ast.Pass()], _names_and_defaults(node.args), None
    for node in list(ast.walk(module)):
        if isinstance(node, ast.FunctionDef) and not _is_kernel(node):
            _Launching(node, kernels).hide_constants()
    return digest(_dump(module))


def _dump(tree):
    return ast.dump(tree, include_attributes=False)


def _without_docstrings(module):
    for node in ast.walk(module):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                node.body = node.body[1:] or [ast.Pass()]
    return module


def _is_kernel(node):
    return isinstance(node, ast.FunctionDef) and any(_last_name(d) == "jit" for d in node.decorator_list)


def _last_name(node):
    """`jit` of `triton.jit`, `jit` and `triton.jit(debug=True)`."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def _names_and_defaults(arguments):
    """Annotations say what is compiled in, which the binaries show."""
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return arguments


class _Launching:
    """One host function: the constants in it that reach nothing but launches."""

    def __init__(self, function, kernels):
        self._function, self._kernels = function, kernels
        self._parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        self._names = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Name):
                self._names.setdefault(node.id, []).append(node)

    def hide_constants(self):
        """Blanks the constants, and takes them out of the keywords of launches, where one more or less may
        be the same program (`num_stages=2` where nothing is staged)."""
        launched, hidden = self._names_of_launches_only(), set()
        for node in ast.walk(self._function):
            for name, value in self._pairs(node) if isinstance(node, ast.Assign) else ():
                if name in launched and isinstance(value, ast.Constant):
                    value.value, value.kind = _ANYTHING, None
                    hidden.add(name)
        for node in ast.walk(self._function):
            if self._is_launch(node):
                node.keywords = [k for k in node.keywords if k.arg is None or not self._shown(k.value, hidden)]

    def _names_of_launches_only(self):
        """Names that are assigned once, and whose every use ends in a launch; found as what remains when
        names with another use have been struck out."""
        once = {}
        for node in ast.walk(self._function):
            if isinstance(node, ast.Assign):
                for name, value in self._pairs(node):
                    once.setdefault(name, []).append(value)
        stored = {name: sum(isinstance(n.ctx, ast.Store) for n in nodes) for name, nodes in self._names.items()}
        declared = {n for node in ast.walk(self._function) if isinstance(node, (ast.Global, ast.Nonlocal)) for n in node.names}
        names = {n for n, values in once.items() if len(values) == 1 and stored.get(n) == 1 and n not in declared}
        while struck := {name for name in names if not all(self._ends_in_launch(use, names) for use in self._uses(name))}:
            names -= struck
        return names

    def _uses(self, name):
        return [node for node in self._names.get(name, []) if isinstance(node.ctx, ast.Load)]

    def _ends_in_launch(self, node, names):
        """Whether what is computed from `node` goes into a launch, or into one of `names`, and nowhere else."""
        while (parent := self._parents.get(node)) is not None:
            if self._is_launch(parent):
                return True
            if isinstance(parent, ast.Assign) and node is parent.value:
                return self._assigned(parent) <= names and bool(self._assigned(parent))
            grid = isinstance(parent, ast.Subscript) and self._is_launch(self._parents.get(parent)) and node is parent.slice
            arithmetic = isinstance(parent, ast.Call) and node is not parent.func and _last_name(parent) in _ARITHMETIC
            if not (grid or arithmetic or isinstance(parent, _TRANSPARENT)):
                return False
            node = parent
        return False

    def _is_launch(self, node):
        """`kernel[grid](…)` of a kernel that the source defines."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Subscript)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in self._kernels
        )

    def _shown(self, value, hidden):
        return isinstance(value, ast.Constant) or isinstance(value, ast.Name) and value.id in hidden

    def _assigned(self, node):
        return {name for name, _ in self._pairs(node)}

    @staticmethod
    def _pairs(node):
        """(name, value) of `a = 1` and of `a, b = 1, 2`; nothing of other assignments."""
        if len(node.targets) != 1:
            return []
        (target,) = node.targets
        if isinstance(target, ast.Name):
            return [(target.id, node.value)]
        both = (ast.Tuple, ast.List)
        if isinstance(target, both) and isinstance(node.value, both) and len(target.elts) == len(node.value.elts):
            if all(isinstance(name, ast.Name) for name in target.elts):
                return [(name.id, value) for name, value in zip(target.elts, node.value.elts)]
        return []
