"""The native form: CASES, make_inputs(device, seed, **case), reference(*inputs) and what is optional."""

from .base import Case, Contract, Problem, as_json, interpret_verdict, make_unique, name_from, seed_everything
from .cpu import NOTE, widen_parameter, widen_tensors
from .source import import_file, read_text
from .tolerance import Tolerance, parse

_RESERVED = ("name", "weight")


class NamedReference(Contract):
    """What the native form and its shorthand share."""

    kind = "native"
    shapes = known_shapes = None  # of the shorthand: those of this device, and all that the contract names

    def __init__(self, path, device):
        super().__init__(path, device)
        self.entries = ["kernel_function"]
        self.module = import_file(path, "kernelbrain_contract")
        for name in ("make_inputs", "reference"):
            if not callable(getattr(self.module, name, None)):
                raise self.failure(f"{name} is not a function")
        self.tolerance = Tolerance(self._declared_tolerance())
        self.widened = False  # whether a case asked for bfloat16 and gets float32
        self.has_own_comparison = self.optional("compare") is not None
        self.mutates = self.positions("MUTATES")
        self.grads = self.positions("GRADS")
        self.cases = make_unique(self.read_cases())
        if self.device.type == "cpu" and (self.widened or "torch.bfloat16" in read_text(path)):
            self.notes.append(NOTE)

    def read_cases(self):
        raise NotImplementedError

    def call_make_inputs(self, case, seed):
        raise NotImplementedError

    def optional(self, name, default=None):
        return getattr(self.module, name, default)

    def list_for_device(self, name):
        """NAME, or SMALL_NAME on the cpu device; not empty."""
        wanted, other = name, f"SMALL_{name}"
        if self.device.type == "cpu":
            wanted, other = other, wanted
        value = self.optional(wanted)
        if value is None:
            value = self.optional(other)
            self.notes.append(f"the contract has no {wanted}; {other} are used on {self.device.type}")
            wanted = other
        if not isinstance(value, (list, tuple)) or not value:
            raise self.failure(f"{wanted} must be a list with at least one entry")
        return wanted, list(value)

    def _declared_tolerance(self):
        value = self.optional("TOLERANCE")
        if value is None:
            self.notes.append("the contract has no TOLERANCE; defaults by dtype are used")
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise self.failure(f"TOLERANCE: {error}") from None

    def make(self, case, seed):
        seed_everything(seed)
        with self.foreign(f"make_inputs fails for case {case.name}"):
            made = self.call_make_inputs(case, seed)
        if not isinstance(made, (list, tuple)):
            made = (made,)
        arguments = list(made)
        if self.device.type == "cpu":
            arguments = widen_tensors(arguments)
        self.check_positions(arguments)
        return Problem(arguments)

    def reference(self, problem, arguments, parameters):
        return self.module.reference(*arguments)

    def timed(self, problem):
        return self.module.reference

    def compare(self, problem, answer, expected):
        with self.foreign("compare fails"):
            return interpret_verdict(_asserting(self.module.compare, answer, expected))


def _asserting(compare, answer, expected):
    """A comparison may also speak by assertion, as torch.testing.assert_close does."""
    try:
        return compare(answer, expected)
    except AssertionError as error:
        return False, str(error)


class Native(NamedReference):
    def read_cases(self):
        name, listed = self.list_for_device("CASES")
        return [self._read_case(name, at, entry) for at, entry in enumerate(listed)]

    def _read_case(self, name, at, entry):
        if not isinstance(entry, dict) or not all(isinstance(key, str) for key in entry):
            raise self.failure(f"{name}[{at}] must be a dict of parameters by name")
        weight = entry.get("weight", 1.0)
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < float("inf"):
            raise self.failure(f"{name}[{at}] has weight {weight!r}; it must be a number greater than 0")
        call = {key: value for key, value in entry.items() if key not in _RESERVED}
        if self.device.type == "cpu":
            asked, call = call, {key: widen_parameter(value) for key, value in call.items()}
            self.widened |= call != asked
        params = {key: as_json(value) for key, value in call.items()}
        return Case(str(entry.get("name") or name_from(call)), params, float(weight), call)

    def call_make_inputs(self, case, seed):
        return self.module.make_inputs(device=str(self.device), seed=seed, **case.call)
