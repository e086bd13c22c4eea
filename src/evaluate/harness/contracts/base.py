"""What every form of contract comes down to."""

import dataclasses
import math
import random

import numpy
import torch

from ..wire import Failure
from .source import foreign


@dataclasses.dataclass
class Case:
    """One point of a contract: `params` for reports (JSON), `call` for whatever makes its inputs."""

    name: str
    params: dict
    weight: float
    call: dict


@dataclasses.dataclass
class Problem:
    """A case with a seed: private inputs on the device, which nobody writes to."""

    arguments: list
    parameters: dict = dataclasses.field(default_factory=dict)  # tensors and constants of a Model, by name
    init: list = dataclasses.field(default_factory=list)
    init_seed: int = 0
    model: torch.nn.Module | None = None


class Contract:
    """Subclasses read one form each and set what is declared here."""

    kind: str
    entries: list

    def __init__(self, path, device):
        self.path = path
        self.module = None
        self.device = torch.device(device)
        self.cases = []
        self.mutates = []
        self.grads = []
        self.notes = []
        self.tolerance = None  # a tolerance.Tolerance

    def make(self, case, seed):
        """The Problem of `case` with `seed`; the same values every time."""
        raise NotImplementedError

    # Whether a Model holds something that stays as it is from call to call.
    holds_state = False

    def vary(self, problem, case, seed):
        """A Problem with the inputs of `seed` and what a Model holds as in `problem`."""
        return self.make(case, seed)

    def reference(self, problem, arguments, parameters):
        """The answer for these inputs, in whatever nest the contract returns it; may write to `arguments`."""
        raise NotImplementedError

    def timed(self, problem):
        """The callable that stands for eager PyTorch and goes through torch.compile: takes the arguments."""
        raise NotImplementedError

    has_own_comparison = False

    def compare(self, problem, answer, expected):
        """(agrees, reason) by the contract's own comparison; both answers in the reference's nest."""
        raise NotImplementedError

    @property
    def flops(self):
        """flops(**case) of the contract's file, or None."""
        return getattr(self.module, "flops", None)

    @property
    def bytes(self):
        """bytes(**case) of the contract's file, or None."""
        return getattr(self.module, "bytes", None)

    # Positions of flattened argument tensors that a candidate may use to deliver its answer without
    # the reference writing to them; only gpu-mode tasks have such.
    destinations_allowed = False

    def positions(self, name):
        """MUTATES or GRADS: sorted positions."""
        value = getattr(self.module, name, ())
        good = isinstance(value, (list, tuple, set))
        if not good or not all(isinstance(at, int) and not isinstance(at, bool) and at >= 0 for at in value):
            raise self.failure(f"{name} must be a list of positions of inputs, counted from 0")
        return sorted(set(value))

    def check_positions(self, arguments):
        for name, positions in (("MUTATES", self.mutates), ("GRADS", self.grads)):
            if positions and positions[-1] >= len(arguments):
                raise self.failure(f"{name} names input {positions[-1]}, but there are only {len(arguments)} inputs")

    def failure(self, message, line=None):
        return Failure("contract", message, self.path, line)

    def foreign(self, what):
        return foreign(self.path, what)

    def describe(self):
        return {
            "kind": self.kind,
            "cases": [{"name": c.name, "params": c.params, "weight": c.weight} for c in self.cases],
            "entries": self.entries,
            "mutates": self.mutates,
            "grads": self.grads,
            "notes": self.notes,
        }


def seed_everything(seed):
    """For code that draws from global generators."""
    random.seed(seed)
    numpy.random.seed(seed % (1 << 32))
    torch.manual_seed(seed)


def interpret_verdict(result):
    """(agrees, reason) from what a comparison function returned: a bool, (bool, text), or text for a complaint."""
    if isinstance(result, tuple) and len(result) == 2:
        agrees, reason = result
        return bool(agrees), str(reason)
    if result is None or isinstance(result, str):
        return not result, result or ""
    if isinstance(result, list):  # complaints
        return not result, "; ".join(map(str, result))
    return bool(result), ""


def as_json(value):
    """A parameter as JSON for reports."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {str(name): as_json(item) for name, item in value.items()}
    return str(value).removeprefix("torch.")


def name_from(params):
    """ "M=2048,K=4096" for {"M": 2048, "K": 4096}; shapes as 4x128."""

    def text(value):
        if isinstance(value, (list, tuple)):
            return "x".join(text(item) for item in value) or "scalar"
        return str(as_json(value))

    return ",".join(f"{name}={text(value)}" for name, value in params.items()) or "default"


def make_unique(cases):
    """Appends #2, #3 … to names that are taken."""
    taken = set()
    for case in cases:
        name, count = case.name, 1
        while case.name in taken:
            count += 1
            case.name = f"{name}#{count}"
        taken.add(case.name)
    return cases
