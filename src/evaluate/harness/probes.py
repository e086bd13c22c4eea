"""Inputs beyond the contract's own, on which a kernel must be right as well.

A contract's inputs are of one kind: the values that `make_inputs` draws. A kernel may be right for these alone,
because sums of centred noise are about zero, because no row holds a large value, because every call is given
the same bytes. Each probe here changes the inputs of a case with a seed in one respect, the reference answers
for what came of it, and the candidate is compared as ever.

A probe must not ask for more than the contract does. Where the changed inputs are more sensitive than the
contract's own (two almost equal maxima, multiplied by 1e5), an element may be off by what a small change of the
inputs does to it; small is what the contract's tolerance would forgive on its own inputs. Where the reference
itself is far from exact, ten times its distance from float64 is allowed. And NaN in an input must reach those
outputs that depend on it, not those that only a multiplication by zero connects with it.
"""
import dataclasses
import itertools
import math

import torch

from .agreement import deviation, deviation_exact, distance, is_inexact
from .answers import Contents
from .codec import flatten
from .compare import ERROR_RATIO
from .contracts.source import is_out_of_memory
from .nest import labelled_arguments, map_tensors, replace_tensor
from .wire import Failure

# Small relative changes of the inputs, at most: TF32 rounds so, and what it does is no error of the algorithm.
_LARGEST_CHANGE = 2.0**-11
# Draws of small changes, shared among the tensors and at least so many of each; an element may be off by this many
# times their effect.
_DRAWS, _DRAWS_OF_ONE, _MARGIN = 8, 2, 4.0
# Elements at either end of a tensor that stay as they are where only the middle changes.
_END = 16
_MAX = float("inf")
# Changes after which equal values of a tensor need not be equal any more.
_PIECEWISE = ("shifted", "spikes")


@dataclasses.dataclass(frozen=True)
class Probe:
    name: str
    about: str  # completes a sentence: "wrong {about}"
    kind: str  # values, special, state
    steps: tuple = ()  # strengths, the preferred first; the first at which the reference is finite is used
    at: int | None = None  # which of the flattened argument tensors, where it is about one

    def describe(self):
        return {"name": self.name, "about": self.about, "kind": self.kind}


def applicable(contract, contents):
    """The probes for a case of which `contents` are the inputs and answers, and notes on what is left out."""
    notes = []
    if contract.kind == "gpu_mode":
        return [], ["a gpu-mode task makes its own inputs: no other values are tried"]
    tensors = labelled_arguments(contents.problem.arguments)
    state = _of_state(tensors)
    if contract.has_own_comparison or contract.grads:
        why = "compares answers by itself" if contract.has_own_comparison else "has GRADS"
        notes.append(f"the contract {why}: no values of another scale, NaN or infinities are tried")
        return state, notes
    tables = contents.tables()
    if tables:
        kept = ", ".join(tensors[at][0] for at in sorted(tables))
        notes.append(f"{kept}: the same for every seed, and so taken for a table, whose values are only changed all alike")
    floating = [(at, label) for at, (label, t) in enumerate(tensors) if _is_real(t)]
    if not floating:
        return state, notes
    # Where all values are the same, which of them an index names is anybody's choice.
    indices = any(_is_integer(output.dtype) for output in contents.answer.outputs)
    values = _of_values([tensors[at][1] for at, _ in floating])
    values = [probe for probe in values if not (indices and probe.name == "zeros")]
    single = [(at, label) for at, label in floating if at not in tables]
    special = _of_special(single) if single else []
    # A remembered answer is named best by what looks for one.
    return state[:2] + _in_turn(values, special, state[2:]), notes


def _in_turn(*kinds):
    """One of each kind after the other: where the time ends, no kind has been left out."""
    rounds = itertools.zip_longest(*kinds)
    return [probe for of_each in rounds for probe in of_each if probe is not None]


def _of_values(tensors):
    narrow = any(tensor.dtype == torch.float16 for tensor in tensors)
    large = (64.0, 8.0) if narrow else (1e5, 1e3, 30.0)
    return [
        Probe("large", "for inputs many times as large", "values", large),
        Probe("shifted", "for inputs that are shifted, every slice by another amount", "values", (4.0, 1.0)),
        Probe("spikes", "for inputs with a few values far larger than the rest", "values", (1.0, 0.1)),
        Probe("far", "for inputs far from zero, compared with how much they vary", "values", (30.0,) if narrow else (1e4, 1e3)),
        Probe("tiny", "for inputs a small part as large", "values", (1e-4, 1e-2)),
        Probe("negated", "for inputs of the opposite sign", "values", (1.0,)),
        Probe("centred", "for inputs around zero", "values", (1.0,)),
        Probe("zeros", "for inputs that are all zero", "values", (1.0,)),
    ]


def _of_special(floating):
    first, *others = [Probe(f"nan {at}", f"with a NaN in {label}", "special", (math.nan,), at) for at, label in floating]
    at, label = floating[0]
    infinities = [
        Probe("minus infinity", f"with minus infinity in {label}", "special", (-math.inf,), at),
        Probe("infinity", f"with an infinity in {label}", "special", (math.inf,), at),
    ]
    return [first, *infinities, *others]


def _of_state(tensors):
    """What follows a call on the case's own inputs in the same memory, so that a remembered answer shows."""
    made = [
        Probe("rolled", "after its inputs changed place in the same memory", "state"),
        Probe("middle", "after the middle of its inputs changed in the same memory", "state"),
    ]
    if len(tensors) > 1:
        made += [
            Probe(f"only {at}", f"after {label} alone changed in the same memory", "state", at=at)
            for at, (label, tensor) in enumerate(tensors)
            if tensor.numel()
        ]
    return made


# ------------------------------------------------------------------------------------------- changing inputs
def change(contract, base, probe, step):
    """The arguments of `base` as the probe wants them."""
    arguments, seed = base.problem.arguments, base.seed
    if probe.kind == "state":
        return _changed_state(contract, base, probe)
    tensors = flatten(arguments)
    if probe.kind == "special":
        generator = torch.Generator().manual_seed(seed)
        position = int(torch.randint(tensors[probe.at].numel(), (1,), generator=generator))
        return replace_tensor(arguments, probe.at, _with_element(tensors[probe.at], position, step))
    made = arguments
    for at, tensor in enumerate(tensors):
        if _is_real(tensor) and not (probe.name in _PIECEWISE and at in base.tables()):
            made = replace_tensor(made, at, _VALUES[probe.name](tensor, step, seed))
    return made


def _changed_state(contract, base, probe):
    arguments = base.problem.arguments
    other = base.neighbour()
    tensors = flatten(arguments)
    if len(other) != len(tensors) or any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(tensors, other)):
        raise Failure("probe", "sizes depend on the seed")
    made = arguments
    for at, (tensor, replacement) in enumerate(zip(tensors, other)):
        if probe.at not in (None, at):
            continue
        if probe.name == "rolled" and tensor.numel() > 1 and _is_real(tensor) and at not in base.tables():
            replacement = tensor.reshape(-1).roll(1).reshape(tensor.shape)
        elif probe.name == "middle":
            replacement = _with_middle_of(tensor, replacement)
        made = replace_tensor(made, at, replacement.clone())
    return made


def _with_middle_of(tensor, other):
    flat, end = tensor.contiguous().reshape(-1).clone(), min(_END, tensor.numel() // 4)
    flat[end : flat.numel() - end] = other.reshape(-1)[end : flat.numel() - end]
    return flat.reshape(tensor.shape)


def _with_element(tensor, position, value):
    changed = tensor.detach().contiguous().clone()
    changed.view(-1)[position] = value
    return changed


def _shifted(tensor, step, seed):
    """By `step` to twice that many standard deviations, upwards, each slice of the first dimension by its own."""
    generator = torch.Generator().manual_seed(seed)
    slices = tensor.shape[0] if tensor.dim() else 1
    share = (1 + torch.rand(slices, generator=generator)).to(tensor.device)
    offset = (share * step * _spread(tensor)).reshape(-1, *[1] * (tensor.dim() - 1)) if tensor.dim() else share[0] * step
    return (_wide(tensor) + offset).to(tensor.dtype)


def _with_spikes(tensor, step, seed):
    """Up to eight elements of twice the last dimension's length in standard deviations (so that a mean shows it)."""
    generator = torch.Generator().manual_seed(seed + 1)
    last = tensor.shape[-1] if tensor.dim() else 1
    value = step * _spread(tensor) * max(100.0, 2.0 * last)
    if tensor.dtype == torch.float16:
        value = min(value, 1e3)
    positions = torch.randint(tensor.numel(), (min(8, tensor.numel()),), generator=generator)
    changed = tensor.detach().contiguous().clone()
    # No two alike, so that none of two largest ones is first.
    values = value * (1 + torch.arange(len(positions), device=tensor.device) / 16)
    changed.view(-1)[positions.to(tensor.device)] = values.to(tensor.dtype)
    return changed


def _centred(tensor, step, seed):
    return (_wide(tensor) - _wide(tensor).mean()).to(tensor.dtype)


_VALUES = {
    "shifted": _shifted,
    "far": lambda tensor, step, seed: (_wide(tensor) + step * _spread(tensor)).to(tensor.dtype),
    "spikes": _with_spikes,
    "large": lambda tensor, step, seed: tensor * step,
    "tiny": lambda tensor, step, seed: tensor * step,
    "negated": lambda tensor, step, seed: -tensor,
    "centred": _centred,
    "zeros": lambda tensor, step, seed: torch.zeros_like(tensor),
}


def _is_integer(dtype):
    return not is_inexact(dtype) and dtype != torch.bool


def _is_real(tensor):
    return tensor.dtype.is_floating_point and tensor.dtype.itemsize > 1 and tensor.numel() > 0


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _spread(tensor):
    """The standard deviation, or the mean's size where all values are the same; 1 for zeros."""
    wide = _wide(tensor)
    deviation_ = float(wide.std()) if tensor.numel() > 1 else 0.0
    return deviation_ or float(wide.abs().mean()) or 1.0


# ------------------------------------------------------------------------------------------ inputs and answers
def contents_of(contract, base, probe):
    """ProbeContents at the first of the probe's strengths that works out; Failure("probe") says why none does."""
    reason = "the reference has no finite answer"
    for step in probe.steps or (None,):
        try:
            made = ProbeContents(contract, base, probe, step)
            _ = made.answer
        except Failure as failure:
            reason = failure.message
            continue
        if probe.kind != "values" or all(
            bool(after.isfinite().all()) or not bool(before.isfinite().all())
            for before, after in zip(base.answer.outputs, made.answer.outputs)
            if is_inexact(after.dtype) and after.dtype.itemsize > 1
        ):
            return made
    raise Failure("probe", reason)


class ProbeContents(Contents):
    """A case with a seed and changed inputs."""

    def __init__(self, contract, base, probe, step):
        self._base, self._probe, self._step = base, probe, step
        self._effects = {}
        self.differs_in_one_element = probe.kind == "special"
        super().__init__(contract, base.case, base.seed)

    def _made(self):
        problem = self._base.problem  # what does not change is shared: nobody writes to it
        return dataclasses.replace(problem, arguments=change(self._contract, self._base, self._probe, self._step))

    def _check_finite(self, answer):
        if self._probe.kind != "special":
            super()._check_finite(answer)

    def atol_factor(self, group, at):
        """`atol` belongs to inputs of the contract's scale: it follows the answers when all inputs are scaled."""
        if self._probe.name not in ("large", "tiny"):
            return 1.0
        before, after = self._base.scale(group, at), self.scale(group, at)
        if not before or not math.isfinite(after):
            return 1.0
        ratio = after / before
        return max(1.0, ratio) if self._probe.name == "large" else min(1.0, ratio)

    def excuses(self, group, at, tensor, limits):
        """Whether what differs in `tensor` is no fault: `limits` are its rtol and atol."""
        expected = getattr(self.answer, group)[at]
        try:
            if self._probe.kind == "special":
                return self._is_elsewhere(group, at, tensor, expected, limits)
            if self._probe.kind != "values" or not is_inexact(expected.dtype):
                return False
            return self._is_sensitive(group, at, tensor, expected, limits) or self._is_exact(group, at, tensor, expected)
        except Failure:
            return False
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return False

    # ------------------------------------------------------------------------------- values of another scale
    def _is_sensitive(self, group, at, tensor, expected, limits):
        """Every element is within the tolerance and what small changes of the inputs do to it."""
        effect = self._effect(group, at)
        rtol, atol = limits
        got, wanted = tensor.double(), expected.double()
        allowed = atol + rtol * wanted.abs() + _MARGIN * effect
        # An infinite effect forgives any number; a number never forgives a NaN.
        fine = ((got - wanted).abs() <= allowed) | (got == wanted) | (got.isnan() & wanted.isnan())
        fine |= effect.isinf() & ~got.isnan()
        return bool(fine.all())

    def _effect(self, group, at):
        """Largest changes of each element under small changes of one input tensor after the other, added up: changed
        together they may cancel, in the product of two large values every second time."""
        if (group, at) not in self._effects:
            size = _forgiven_change(self._contract, self._base)
            expected = getattr(self.answer, group)[at].double()
            effect = torch.zeros_like(expected)
            tensors = flatten(self.problem.arguments)
            moving = [number for number, tensor in enumerate(tensors) if _is_real(tensor)]
            for number in moving if size else []:
                largest_ = torch.zeros_like(expected)
                for draw in range(max(_DRAWS_OF_ONE, _DRAWS // len(moving))):
                    arguments = _perturbed(self.problem.arguments, size, draw, number)
                    found = getattr(self.answer_for(arguments), group)[at].double()
                    moved = (found - expected).abs()
                    largest_ = torch.maximum(largest_, torch.where(moved.isnan(), _MAX, moved))
                effect += largest_
            self._effects[group, at] = effect
        return self._effects[group, at]

    def _is_exact(self, group, at, tensor, expected):
        """Not much farther from the float64 answer than the reference is."""
        truth = self.truth()
        if isinstance(truth, str):
            return False
        exact = truth[at if group == "outputs" else len(self.answer.outputs) + at]
        return distance(tensor, exact) <= ERROR_RATIO * distance(expected, exact)

    # ------------------------------------------------------------------------------------ NaN and infinities
    def _is_elsewhere(self, group, at, tensor, expected, limits):
        """Where the outputs follow the element, they agree with the reference (one non-finite value is as good as
        another); elsewhere they may also be what they are without it. What integer NaN becomes is nobody's to say:
        integers that follow it may be any."""
        if _is_integer(expected.dtype):
            clean = getattr(self._base.answer, group)[at]
            fine = _close(tensor.double(), expected.double(), *limits) | _close(tensor.double(), clean.double(), *limits)
            return bool((fine | self._follows(group, at, clean)).all())
        wide = torch.float64 if expected.dtype.itemsize > 1 and not expected.dtype.is_complex else None
        if wide is None:
            return False
        got, wanted = tensor.to(wide), expected.to(wide)
        clean = getattr(self._base.answer, group)[at].to(wide)
        rtol, atol = limits
        agrees = _close(got, wanted, rtol, atol) | (~got.isfinite() & ~wanted.isfinite())
        agrees |= _close(got, clean, rtol, atol) & ~self._follows(group, at, clean)
        return bool(agrees.all())

    def _follows(self, group, at, clean):
        """Which elements change when the element takes other finite values."""
        follows = torch.zeros_like(clean, dtype=torch.bool)
        tensor = flatten(self._base.problem.arguments)[self._probe.at]
        here = flatten(self.problem.arguments)[self._probe.at]
        odd = here.reshape(-1).isnan() if math.isnan(self._step) else here.reshape(-1) == self._step
        position = int(odd.to(torch.uint8).argmax())
        top = 1e3 * max(1.0, float(_wide(tensor).abs().max()))
        for value in (top, -top):
            arguments = replace_tensor(self._base.problem.arguments, self._probe.at, _with_element(tensor, position, value))
            other = getattr(self._base.answer_for(arguments), group)[at].to(clean.dtype)
            follows |= (other != clean) & ~(other.isnan() & clean.isnan())
        return follows


def _close(got, wanted, rtol, atol):
    return ((got - wanted).abs() <= atol + rtol * wanted.abs()) | (got == wanted) | (got.isnan() & wanted.isnan())


def _perturbed(arguments, size, draw, only=None):
    """Every real number times 1 + size or 1 - size, more where the dtype is coarser; of the tensor number `only` if
    that is given."""
    generators, tensors = {}, flatten(arguments)
    chosen = None if only is None else tensors[only]

    def perturb(tensor):
        if not _is_real(tensor) or (chosen is not None and tensor is not chosen):
            return tensor
        key = tensor.device
        if key not in generators:
            generators[key] = torch.Generator(tensor.device).manual_seed(draw + 1)
        sign = torch.randint(0, 2, tensor.shape, generator=generators[key], device=tensor.device) * 2 - 1
        # At least what makes a difference in the tensor's own dtype.
        step = size * max(1.0, torch.finfo(tensor.dtype).eps / _LARGEST_CHANGE)
        return (_wide(tensor) * (1 + step * sign)).to(tensor.dtype)

    return map_tensors(arguments, perturb)


def _forgiven_change(contract, contents):
    """The largest relative change of the contract's own inputs after which the answers agree by half a tolerance;
    0 where even rounding does more."""
    size = _LARGEST_CHANGE
    for _ in range(3):
        answer = contents.answer_for(_perturbed(contents.problem.arguments, size, draw=0))
        error = _disagreement(contract, contents, answer)
        if error <= 0.5:
            return size
        if not math.isfinite(error):
            return 0.0
        size *= 0.4 / error
    return 0.0


def _disagreement(contract, contents, other):
    worst = 0.0
    for at, (expected, found) in enumerate(zip(contents.answer.outputs, other.outputs)):
        if not is_inexact(expected.dtype):
            worst = max(worst, deviation_exact(found, expected).error)
            continue
        bound = contract.tolerance.bound(expected.dtype)
        atol = bound.atol * contents.scale("outputs", at) if bound.scaled else bound.atol
        worst = max(worst, deviation(found, expected, bound.rtol, atol).error)
    return worst

