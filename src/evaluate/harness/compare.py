"""The verdict on what a candidate returned."""

import dataclasses
import math

import torch

from .agreement import Deviation, deviation, deviation_exact, distance, is_inexact, largest
from .codec import contiguous_stride, dtype_name
from .fingerprint import fingerprint
from .nest import labelled_arguments, rebuild
from .redzones import breach

# KernelOPT, section 4.4 and appendix B: where the strict comparison fails, a float64 reference tells
# numerical noise from wrong algorithms. A candidate may be ten times as far from it as the reference; where
# the reference is exact, an error relative to the answer's scale decides. The paper's third clause, an
# absolute error of 5e-3, is left out: with it, zeros pass wherever answers are small.
ERROR_RATIO = 10.0
EXACT_REFERENCE = 1e-8
EXACT_RELATIVE_ERROR = 1e-4
SMALLEST_SCALE = 1e-12


class Rejected(Exception):
    """The candidate's answer is wrong; `gate` is "correctness" or "integrity"."""

    def __init__(self, reason, gate="correctness"):
        super().__init__(reason)
        self.gate, self.reason = gate, reason


@dataclasses.dataclass
class Agreement:
    """`error` in units of the limit of the tier that decided; None where the contract's own comparison did."""

    error: float | None
    tier: str  # exact, tolerance, float64, contract


_STRICTNESS = ("exact", "tolerance", "float64", "contract")


def judge(contract, contents, stage, returned, gradients):
    """The `ok` of a compare: what was returned against metadata, shared buffers and reference answers."""
    try:
        in_place = _answered_in_place(contract, contents, returned)
        if in_place is None:
            _check_outputs(contract, contents.answer, returned)
        _check_red_zones(stage)
        _check_inputs_unchanged(contract, contents, stage, in_place)
        # Private copies: a process that still lives cannot change what is judged.
        outputs = [_private(o) for o in stage.outputs] if in_place is None else [_read_input(contents, stage, in_place)]
        found = [judge_outputs(contract, contents, outputs)]
        found += _judge_group(contract, contents, "mutated", [_private(m) for m in stage.mutated])
        _check_gradients(contract, contents.answer, gradients)
        found += _judge_group(contract, contents, "gradients", [_private(g) for g in stage.gradients])
    except Rejected as rejected:
        return {"pass": False, "gate": rejected.gate, "reason": rejected.reason}
    worst = max(found, key=lambda a: (_STRICTNESS.index(a.tier), a.error or 0.0))
    return {"pass": True, "error": worst.error, "tier": worst.tier}


def _private(tensor):
    """A copy, byte for byte: copying bool as such would make True of any byte."""
    return tensor.view(torch.uint8).clone().view(torch.bool) if tensor.dtype == torch.bool else tensor.clone()


# ------------------------------------------------------------------------------------- what was returned
def _answered_in_place(contract, contents, returned):
    """Index of the input that holds the answer of a kernel that returned nothing, else None.

    KernelAgent's convention for a Model with one output: the first input of its shape and dtype.
    """
    if contract.kind != "kernel_bench" or returned or contract.mutates or len(contents.answer.outputs) != 1:
        return None
    expected = contents.answer.outputs[0]
    count = len(labelled_arguments(contents.problem.arguments))
    for at, (_, tensor) in enumerate(contents.labels()[:count]):
        if tensor.shape == expected.shape and tensor.dtype == expected.dtype:
            return at
    kind = f"{dtype_name(expected.dtype)} {list(expected.shape)}"
    raise Rejected(f"returned nothing, and there is no input of the output's kind ({kind}) that could hold it")


def _check_outputs(contract, answer, returned):
    expected = answer.outputs
    if not expected:  # an operation that only overwrites may return what it overwrote
        returned = [got for got in returned if (got.get("alias") or {}).get("argument") not in contract.mutates]
    if len(returned) != len(expected):
        raise Rejected(f"returned {_count(len(returned), 'tensor')} instead of {len(expected)}")
    for at, (got, output) in enumerate(zip(returned, expected)):
        _check_tensor(contract, f"output {at}", got, output, answer.strides[at])
    for at, got in enumerate(returned):
        if got.get("alias") is not None:
            _check_alias(contract, f"output {at}", got["alias"], answer.aliases[at])


def _check_alias(contract, label, alias, own):
    """An output may be an argument's memory where the reference's is, or where the argument may be written."""
    ((what, which),) = alias.items()
    if what == "argument" and (contract.destinations_allowed or which in (own, *contract.mutates)):
        return
    where = f"{what} {which}" if what != "buffer" else "a buffer that the referee shares"
    raise Rejected(f"{label} is memory of {where}; the reference returns a tensor of its own", "integrity")


def _check_gradients(contract, answer, gradients):
    if not answer.gradients:
        return
    gradients = gradients or [None] * len(answer.gradients)
    for at, got, expected in zip(contract.grads, gradients, answer.gradients):
        if got is None:
            raise Rejected(f"there is no gradient for argument {at}: the output does not depend on it through autograd")
        _check_tensor(contract, f"the gradient of argument {at}", got, expected, None)


def _check_tensor(contract, label, got, expected, stride):
    """Dtype, shape, device, and where `stride` is given the layout: contiguous, or as the reference has it."""
    if got["dtype"] != dtype_name(expected.dtype):
        raise Rejected(f"{label} has dtype {got['dtype']} instead of {dtype_name(expected.dtype)}")
    shape = list(expected.shape)
    if list(got["shape"]) != shape:
        raise Rejected(f"{label} has shape {got['shape']} instead of {shape}")
    if str(got["device"]).split(":")[0] != contract.device.type:
        raise Rejected(f"{label} lies on {got['device']} instead of {contract.device}")
    if stride is None:
        return
    allowed = [_significant(shape, stride), _significant(shape, contiguous_stride(shape))]
    if expected.numel() and _significant(shape, got["stride"]) not in allowed:
        raise Rejected(f"{label} of shape {shape} has stride {list(got['stride'])} instead of {list(stride)}")


def _significant(shape, stride):
    """Strides of dimensions that have more than one element; the others mean nothing."""
    return [step for size, step in zip(shape, stride) if size != 1]


# ------------------------------------------------------------------------------------------------- inputs
def _check_red_zones(stage):
    if (evidence := breach(stage.zones)) is not None:
        raise Rejected(evidence, "integrity")


def _check_inputs_unchanged(contract, contents, stage, in_place):
    for at, (given, before) in enumerate(zip(stage.inputs, contents.fingerprints)):
        allowed = given.argument in contract.mutates or at in contents.destinations or at == in_place
        if not allowed and fingerprint(given.memory) != before:
            text = f"{given.label} was changed by the call; the contract does not list it in MUTATES"
            raise Rejected(text, "integrity")


def _read_input(contents, stage, at):
    """A private copy of an exported input as it is now."""
    tensor = contents.labels()[at][1]
    flat = stage.inputs[at].memory.view(tensor.dtype)
    return flat.as_strided(tensor.shape, tensor.stride()).clone(memory_format=torch.contiguous_format)


# ------------------------------------------------------------------------------------------------- values
def judge_outputs(contract, contents, outputs):
    """The Agreement of output tensors with the reference's; Rejected where there is none."""
    answer = contents.answer
    if contract.has_own_comparison:
        _check_written(outputs, answer.outputs)
        answers = rebuild(answer.like, outputs), rebuild(answer.like, answer.outputs)
        agrees, reason = contract.compare(contents.problem, *answers)
        if not agrees:
            raise Rejected(f"the contract's comparison rejects the answer: {reason or 'no reason given'}")
        return Agreement(None, "contract")
    found = _judge_group(contract, contents, "outputs", outputs)
    return max(found, key=lambda a: (_STRICTNESS.index(a.tier), a.error or 0.0), default=Agreement(0.0, "exact"))


def _check_written(outputs, expected):
    """The contract's own comparison may well take NaN for a value."""
    for at, (output, wanted) in enumerate(zip(outputs, expected)):
        if is_inexact(output.dtype):
            _refuse_unwritten(f"output {at}", deviation(output, wanted, 0.0, math.inf), output)


def _refuse_unwritten(label, gap: Deviation, tensor):
    """NaN where the reference has none: memory that was never written, or a computation gone wrong."""
    if gap.unwritten:
        share, where = _share(gap.unwritten, tensor), _index(gap.first_unwritten, tensor)
        text = f"{label}: {share} are NaN where the reference has a number, the first at {where}: "
        raise Rejected(text + "never written, or computed from what was not")


def _judge_group(contract, contents, group, tensors):
    """One Agreement a tensor. `group` names the field of the Answer: outputs, mutated or gradients."""
    answer, found = contents.answer, []
    for at, (tensor, expected) in enumerate(zip(tensors, getattr(answer, group))):
        label = _LABELS[group](contract, at)
        if is_inexact(expected.dtype):
            found.append(_judge_inexact(contract, contents, group, at, label, tensor, expected))
            continue
        found.append(_judge_integers(contract, contents, group, at, label, tensor, expected))
    return found


def _judge_integers(contract, contents, group, at, label, tensor, expected):
    """Exact, unless the contract names their dtype in TOLERANCE: roundings of a quantisation may differ by one."""
    if not contract.tolerance.names(expected.dtype):
        gap = deviation_exact(tensor, expected)
        if gap.off and not contents.excuses(group, at, tensor, (0.0, 0.0)):
            raise Rejected(_complaint(label, gap, tensor, expected, "exact"))
        return Agreement(0.0, "exact")
    bound = contract.tolerance.bound(expected.dtype)
    gap = deviation(tensor.double(), expected.double(), bound.rtol, bound.atol)
    if gap.off and not contents.excuses(group, at, tensor, (bound.rtol, bound.atol)):
        raise Rejected(_complaint(label, gap, tensor, expected, f"rtol {bound.rtol:g}, atol {bound.atol:.3g}"))
    return Agreement(gap.error if not gap.off else 1.0, "tolerance")


_LABELS = {
    "outputs": lambda contract, at: f"output {at}",
    "mutated": lambda contract, at: f"overwritten tensor {at} (in the order of MUTATES)",
    "gradients": lambda contract, at: f"the gradient of argument {contract.grads[at]}",
}


def _judge_inexact(contract, contents, group, at, label, tensor, expected):
    bound = contract.tolerance.bound(expected.dtype)
    atol = bound.atol * contents.scale(group, at) if bound.scaled else bound.atol * contents.atol_factor(group, at)
    gap = deviation(tensor, expected, bound.rtol, atol)
    if not gap.off:
        return Agreement(gap.error, "tolerance")
    if contents.excuses(group, at, tensor, (bound.rtol, atol)):
        return Agreement(1.0, "tolerance")
    _refuse_unwritten(label, gap, tensor)
    complaint = _complaint(label, gap, tensor, expected, f"rtol {bound.rtol:g}, atol {atol:.3g}")
    if contract.tolerance.declares(expected.dtype):
        raise Rejected(complaint)
    truth = contents.truth()
    if isinstance(truth, str):
        raise Rejected(f"{complaint}; {truth}")
    before = {"outputs": 0, "mutated": len(contents.answer.outputs)}
    before["gradients"] = before["mutated"] + len(contents.answer.mutated)
    return _judge_by_float64(complaint, tensor, expected, truth[before[group] + at])


def _judge_by_float64(complaint, tensor, expected, truth):
    own, theirs = distance(expected, truth), distance(tensor, truth)
    if not math.isfinite(own):
        raise Rejected(f"{complaint}; the reference itself is not finite against float64")
    if own < EXACT_REFERENCE:
        relative = theirs / max(largest(expected), SMALLEST_SCALE)
        if relative <= EXACT_RELATIVE_ERROR:
            return Agreement(relative / EXACT_RELATIVE_ERROR, "float64")
        raise Rejected(f"{complaint}; against float64 the error is {relative:.3g} of the largest answer")
    if theirs <= ERROR_RATIO * own:
        return Agreement(theirs / own / ERROR_RATIO, "float64")
    raise Rejected(f"{complaint}; against float64 the error is {theirs:.3g}, the reference's own {own:.3g}")


# ---------------------------------------------------------------------------------------------- evidence
def _complaint(label, gap: Deviation, tensor, expected, limits):
    where = _index(gap.worst, tensor)
    got, wanted = _element(tensor, gap.worst), _element(expected, gap.worst)
    text = f"{label}: {_share(gap.off, tensor)} are off ({limits}); the worst is {got} at {where}, expected {wanted}"
    return text if not math.isfinite(gap.error) else f"{text}, {gap.error:.3g} times the tolerance"


def _share(count, tensor):
    total = _numbers(tensor)
    percent = 100 * count / total
    shown = "<0.01" if percent < 0.01 else f"{percent:.3g}"
    return f"{count} of {_count(total, 'element')} ({shown} %)"


def _numbers(tensor):
    return tensor.numel() * (2 if tensor.is_complex() else 1)


def _element(tensor, flat):
    value = tensor.reshape(-1)[_place(tensor, flat)].item()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _index(flat, tensor):
    return [int(at) for at in torch.unravel_index(torch.tensor(_place(tensor, flat)), tensor.shape)]


def _place(tensor, flat):
    return flat // 2 if tensor.is_complex() else flat


def _count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"
