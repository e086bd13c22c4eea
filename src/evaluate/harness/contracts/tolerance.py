"""How exactly an answer must agree."""

import dataclasses
import math

import torch

from ..codec import dtype_name, dtype_of


@dataclasses.dataclass(frozen=True)
class Bound:
    """|output - expected| <= atol + rtol * |expected|, for every element."""

    rtol: float
    atol: float
    scaled: bool = False  # atol is in units of the root mean square of what is expected

    def __str__(self):
        return f"rtol {self.rtol:g}, atol {self.atol:g}" + (" of the root mean square" if self.scaled else "")


# Where a contract is silent: a few roundings of the dtype, relative to the element or to the answer's
# scale. An absolute atol would pass zeros wherever answers are small.
DEFAULTS = {
    torch.float64: Bound(1e-9, 1e-10, scaled=True),
    torch.float32: Bound(1e-4, 1e-5, scaled=True),
    torch.float16: Bound(2e-3, 2e-3, scaled=True),
    torch.bfloat16: Bound(1.6e-2, 1e-2, scaled=True),
    torch.complex64: Bound(1e-4, 1e-5, scaled=True),
    torch.complex128: Bound(1e-9, 1e-10, scaled=True),
}
_NARROW = Bound(0.125, 0.1, scaled=True)  # 8-bit floats

# What KernelBench itself asks for (its get_tolerance_for_precision).
KERNEL_BENCH = {
    torch.float32: Bound(1e-4, 1e-4),
    torch.float16: Bound(1e-2, 1e-2),
    torch.bfloat16: Bound(1e-2, 1e-2),
}


class Tolerance:
    """`declared` wins and is final; otherwise the defaults hold and the float64 reference may overrule them."""

    def __init__(self, declared=None, defaults=None):
        self._declared = declared or {}
        self._defaults = {**DEFAULTS, **(defaults or {})}

    def declares(self, dtype):
        return dtype in self._declared or None in self._declared

    def names(self, dtype):
        """Whether this very dtype is declared, as integers must be to be compared other than exactly."""
        return dtype in self._declared

    def bound(self, dtype):
        """The Bound for outputs of a floating or complex dtype, or of one that is named."""
        if self.declares(dtype):
            return self._declared.get(dtype) or self._declared[None]
        return self._defaults.get(dtype, _NARROW)


def parse(value):
    """{dtype or None for all: Bound} from TOLERANCE; ValueError says what is wrong with it."""
    if isinstance(value, dict) and value and not set(value) <= {"rtol", "atol"}:
        return {parse_dtype(name): _parse_bound(bound) for name, bound in value.items()}
    return {None: _parse_bound(value)}


def parse_dtype(name):
    if isinstance(name, torch.dtype):
        return name
    try:
        return dtype_of(str(name).removeprefix("torch."))
    except ValueError:
        known = ", ".join(dtype_name(dtype) for dtype in DEFAULTS)
        raise ValueError(f"{name!r} is neither rtol, atol nor a dtype (such as {known})") from None


def _parse_bound(value):
    if isinstance(value, dict):
        unknown = set(value) - {"rtol", "atol"}
        if unknown or not value:
            raise ValueError(f"expected rtol and atol, found {sorted(map(str, value)) or 'nothing'}")
        rtol, atol = value.get("rtol", 0.0), value.get("atol", 0.0)
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        rtol, atol = value
    else:
        rtol = atol = value
    for number in (rtol, atol):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError(f"{number!r} is not a number")
        if not math.isfinite(number) or number < 0:
            raise ValueError(f"{number!r} is not a finite number of at least 0")
    return Bound(float(rtol), float(atol))
