"""Sizes that a contract does not list: near the listed ones, ragged, prime. A kernel that is right for the listed
sizes alone has learnt the test."""
import dataclasses
import math

from .base import Case, as_json, name_from

# Elements of a row.
_LONG = 8192
# Unlisted sizes a contract is tried with, at most.
_MOST = 8


@dataclasses.dataclass(frozen=True)
class Unlisted:
    """`binding`: the form of the contract says that every size is legal, so that refusing one is a fault too."""

    case: Case
    binding: bool


def unlisted(contract):
    """A few unlisted cases, those first that the contract names itself. Whether the reference accepts one shows when
    its inputs are made."""
    if contract.kind != "native" or not contract.cases:
        return []
    if contract.shapes is not None:
        return _of_shapes(contract)
    return _of_parameters(contract)


# -------------------------------------------------------------------------------------- SHAPES and DTYPES
def _of_shapes(contract):
    first = contract.cases[0].call
    known = {tuple(shape) for shape in contract.known_shapes if _is_shape(shape)}
    listed = {tuple(shape) for shape in contract.shapes if _is_shape(shape)}
    odd = [tuple(shape) for shape in contract.optional("ODD_SHAPES") or () if _is_shape(shape)]
    shapes = list(dict.fromkeys(odd + _near(listed)))
    if contract.device.type == "cpu":
        limit = 2 * max(map(math.prod, listed), default=0) + 4096
        shapes = [shape for shape in shapes if math.prod(shape) <= limit]
    made = []
    for shape in [shape for shape in shapes if shape not in known][:_MOST]:
        call = {**first, "shape": type(first["shape"])(shape) if isinstance(first["shape"], (list, tuple)) else shape}
        params = {**contract.cases[0].params, "shape": as_json(shape)}
        name = name_from({"shape": shape}).removeprefix("shape=")
        made.append(Unlisted(Case(name, params, 1.0, call), binding=True))
    return made


def _is_shape(shape):
    return isinstance(shape, (list, tuple)) and bool(shape) and all(type(size) is int and size > 0 for size in shape)


def _near(listed):
    """Of the listed shapes in turn: one more in each dimension, one less, a longer row, primes."""
    if not listed:
        return []
    changes = (
        lambda shape: tuple(size + 1 for size in shape),
        lambda shape: tuple(max(size - 1, 1) for size in shape),
        _long,
        lambda shape: tuple(_next_prime(size) for size in shape),
        lambda shape: tuple(_next_prime(size // 2) for size in shape),
    )
    shapes = sorted(listed, key=math.prod)
    return [change(shapes[at % len(shapes)]) for at, change in enumerate(changes)]


def _long(shape):
    """The last dimension doubled and one, the others short. Rows that are long already grow by an eighth: kernels
    that hold one at once would be compiled for minutes."""
    last = shape[-1]
    longer = 2 * last + 1 if len(shape) == 1 or last <= _LONG else last + last // 8 + 1
    return (*(min(size, 2) for size in shape[:-1]), longer)


def _next_prime(size):
    candidate = size + 1
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


# -------------------------------------------------------------------------------------------------- CASES
def _of_parameters(contract):
    """Every size of the smallest case by itself, one more; then all of them, the next primes."""
    listed = [case.call for case in contract.cases]
    smallest = min(listed, key=lambda call: math.prod(_sizes(call).values()))
    sizes = _sizes(smallest)
    calls = [{**smallest, **{name: size + 1 for name, size in sizes.items()}}]
    calls += [{**smallest, name: size + 1} for name, size in sizes.items()]
    calls.append({**smallest, **{name: _next_prime(size) for name, size in sizes.items()}})
    made = []
    for call in calls:
        if call not in listed and all(call != other.case.call for other in made):
            params = {name: as_json(value) for name, value in call.items()}
            made.append(Unlisted(Case(name_from(call), params, 1.0, call), binding=False))
    return made[:_MOST]


def _sizes(call):
    return {name: value for name, value in call.items() if type(value) is int and value > 1}
