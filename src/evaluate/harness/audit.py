"""Does the contract let wrong answers through? Mutants of the reference run through the correctness gate."""

import torch

from .agreement import is_inexact, largest
from .answers import run_reference
from .codec import flatten
from .compare import Rejected, judge_outputs
from .contracts.source import is_out_of_memory
from .nest import labelled_arguments, map_tensors, replace_tensor
from .wire import Failure

# Weights of a Model that are tried one by one, largest first; the rest say the same.
_PARAMETERS = 16
# Share of a dimension that "last tile dropped" leaves out.
_TILE = 16


def audit(contract, contents):
    """[{name, passed, advice}]; passed means that the gate accepts a wrong answer."""
    other = _other_seed(contract, contents)
    found = [
        _judged(contract, contents, other, *mutant) for mutant in _whole_answers(contents.problem, contents.answer)
    ]
    if other is not None and _same_shapes(other[1].outputs, contents.answer.outputs):
        found.append(_judged(contract, contents, None, "another seed's answer", other[1].outputs))
    return found + [_ignored(contract, contents, other, *at) for at in _changeable(contents)]


def _other_seed(contract, contents):
    """Problem and answer with the next seed, for the same shapes; None where that fails."""
    seed = contents.seed + 1
    try:
        problem = contract.make(contents.case, seed)
        arguments = [map_tensors(argument, lambda tensor: tensor.detach().clone()) for argument in problem.arguments]
        return problem, run_reference(contract, contents.case, seed, problem, arguments, problem.parameters)
    except Failure:
        return None


# ------------------------------------------------------------------------------------- answers as a whole
def _whole_answers(problem, answer):
    """(name, outputs) of mutants that are made of the answer itself or of an input."""
    expected = answer.outputs
    yield "zeros", [torch.zeros_like(output) for output in expected]
    if any(output.numel() > 1 for output in expected):  # of one element it is the answer
        yield "constant mean", [_mean_of(output) for output in expected]
    for name, dimension in (("last", -1), ("first", 0)):
        dropped = _without_last_tile(expected, dimension)
        if dropped is not None:
            yield f"last tile dropped ({name} dimension)", dropped
    if len(expected) == 1:
        for label, tensor in labelled_arguments(problem.arguments):
            if tensor.shape == expected[0].shape and tensor.dtype == expected[0].dtype:
                yield f"{label} returned as it is", [tensor.clone(memory_format=torch.contiguous_format)]


def _mean_of(tensor):
    """A tensor like this one with its mean everywhere: rounded for integers, the majority for bool."""
    if not tensor.numel():
        return tensor
    if tensor.is_complex():
        return torch.full_like(tensor, tensor.mean().item())
    wide = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    finite = torch.where(tensor.isfinite(), tensor, 0) if tensor.dtype.itemsize > 1 else tensor
    mean = finite.to(wide).mean()
    if tensor.dtype == torch.bool:
        return torch.full_like(tensor, bool(mean >= 0.5))
    if not tensor.is_floating_point():
        mean = mean.round()
    return mean.to(tensor.dtype).expand(tensor.shape).clone()


def _without_last_tile(outputs, dimension):
    """The last sixteenth of one dimension left zero, at least one slice; None where no output has two slices."""
    if not any(output.dim() and output.shape[dimension] > 1 for output in outputs):
        return None
    if dimension == 0 and not any(output.dim() > 1 for output in outputs):
        return None  # the last dimension is the first
    made = [output.clone() for output in outputs]
    for output in made:
        if output.dim() and output.shape[dimension] > 1:
            size = output.shape[dimension]
            tile = max(size // _TILE, 1)
            output.narrow(dimension, size - tile, tile).zero_()
    return made


def _same_shapes(tensors, others):
    return [(t.shape, t.dtype) for t in tensors] == [(o.shape, o.dtype) for o in others]


def _judged(contract, contents, other, name, outputs):
    if all(map(torch.equal, outputs, contents.answer.outputs)):
        if other is not None and not _is_right(name, *other):
            return {"name": name, "passed": False, "advice": ""}  # right by chance
        advice = f"that is the right answer in this case, so nothing is tested: {_vary(contents)}"
        return {"name": name, "passed": True, "advice": advice}
    passed = _accepts(contract, contents, outputs)
    return {"name": name, "passed": passed, "advice": _advice(contract, contents) if passed else ""}


def _is_right(name, problem, answer):
    """Whether the mutant of that name is the right answer for another seed, too."""
    return any(n == name and all(map(torch.equal, o, answer.outputs)) for n, o in _whole_answers(problem, answer))


def _accepts(contract, contents, outputs):
    try:
        judge_outputs(contract, contents, outputs)
    except Rejected:
        return False
    return True


# ------------------------------------------------------------------------------------ arguments left unread
def _changeable(contents):
    """(label, position among arguments or None, name among parameters or None) of what may be ignored."""
    arguments = labelled_arguments(contents.problem.arguments)
    found = [(label, at, None) for at, (label, _) in enumerate(arguments) if at not in contents.destinations]
    tensors = {n: p for n, p in contents.problem.parameters.items() if isinstance(p, torch.Tensor)}
    named = sorted(tensors, key=lambda name: -tensors[name].numel())[:_PARAMETERS]
    return found + [(f"parameter {name}", None, name) for name in named]


def _ignored(contract, contents, other, label, at, name):
    """The reference with one tensor replaced: by its mean, and by what another seed has in its place."""
    problem, title = contents.problem, f"{label} ignored"
    tensor = labelled_arguments(problem.arguments)[at][1] if name is None else problem.parameters[name]
    substitutes = [s for s in _substitutes(tensor, other, at, name) if not torch.equal(s, tensor)]
    if not substitutes:
        advice = f"{label} has the same constant value for every seed, so a kernel that never reads it passes: "
        return {"name": title, "passed": True, "advice": advice + "make it random"}
    answers = [a for a in (_answer_with(contract, contents, at, name, s) for s in substitutes) if a is not None]
    if not answers:
        return {"name": title, "passed": False, "advice": ""}
    expected = contents.answer.outputs
    if all(_same_shapes(a, expected) and all(map(torch.equal, a, expected)) for a in answers):
        advice = f"the reference does not depend on the values of {label} in this case; if it should, change its inputs"
        return {"name": title, "passed": True, "advice": advice}
    passed = any(_same_shapes(a, expected) and _accepts(contract, contents, a) for a in answers)
    return {"name": title, "passed": passed, "advice": _advice(contract, contents) if passed else ""}


def _substitutes(tensor, other, at, name):
    if tensor.numel() and is_inexact(tensor.dtype):
        yield _mean_of(tensor)
    if other is None:
        return
    problem = other[0]
    if name is None:
        tensors = flatten(problem.arguments)
        stale = tensors[at] if at < len(tensors) else None
    else:
        stale = problem.parameters.get(name)
    if stale is not None and stale.shape == tensor.shape and stale.dtype == tensor.dtype:
        yield stale.detach()


def _answer_with(contract, contents, at, name, substitute):
    """Outputs of the reference with one tensor replaced; None where it fails with it."""
    problem = contents.problem
    arguments = [map_tensors(argument, lambda tensor: tensor.clone()) for argument in problem.arguments]
    parameters = problem.parameters
    if name is None:
        arguments = replace_tensor(arguments, at, substitute.clone())
    else:
        parameters = {**parameters, name: substitute.clone()}
    try:
        return run_reference(contract, contents.case, contents.seed, problem, arguments, parameters).outputs
    except Failure:
        return None
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return None


# ---------------------------------------------------------------------------------------------- advice
def _advice(contract, contents):
    """Why the gate lets it through, as far as the numbers show, and what to change."""
    hints = []
    for at, output in enumerate(contents.answer.outputs):
        if not is_inexact(output.dtype) or not output.numel():
            continue
        bound, top = contract.tolerance.bound(output.dtype), largest(output)
        if not bound.scaled and bound.atol >= top > 0:
            text = f"atol {bound.atol:g} is larger than every expected value of output {at} (at most {top:.2g}): "
            hints.append(text + f"use one like {bound.rtol * top:.1g}")
    return "; ".join(hints or [_vary(contents)])


def _vary(contents):
    positive = [
        label
        for label, tensor in contents.labels()
        if tensor.is_floating_point() and tensor.numel() > 1 and float(tensor.float().min()) >= 0
    ]
    if positive:
        few = ", ".join(positive[:4]) + (", …" if len(positive) > 4 else "")
        where = "where the operator does not ask for that, use standard normal inputs (torch.randn)"
        return f"no value of {few} is negative: {where}, so that answers vary"
    return (
        "make inputs vary more (larger spread, mean zero) or tighten the tolerance, so that a wrong answer is far off"
    )
