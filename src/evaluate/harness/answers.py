"""Inputs and reference answers of a case with a seed, in memory that is never shared."""

import dataclasses

import torch

from .agreement import count_where, is_inexact, root_mean_square
from .codec import flatten
from .contracts.source import is_out_of_memory
from .fingerprint import fingerprint_tensor
from .nest import copy_with_layout, labelled_arguments, map_tensors, replace_tensor
from .wire import Failure


def _is_same(tensor, other):
    return tensor.shape == other.shape and tensor.dtype == other.dtype and torch.equal(tensor, other)


def _varies(tensor):
    return tensor.numel() > 1 and not bool((tensor == tensor.reshape(-1)[0]).all())


@dataclasses.dataclass
class Answer:
    """What the reference computed. Outputs are contiguous; `strides` are those that it returned."""

    outputs: list
    strides: list
    aliases: list  # per output: the position of the argument whose memory it is, or None
    like: object  # the nest that it returned, with empty tensors
    mutated: list  # tensors of the arguments in MUTATES, afterwards
    gradients: list  # of the arguments in GRADS
    cotangents: list  # one per floating output

    def tensors(self):
        return self.outputs + self.mutated + self.gradients + self.cotangents


class Contents:
    """A case with a seed: its inputs, and when they are asked for, what the reference answers and what is
    derived from both. Most inputs that a call is timed on are never asked for more. With `like` the inputs are
    those of the seed, and what a Model holds is that of the other contents."""

    def __init__(self, contract, case, seed, like=None):
        self._contract, self.case, self.seed, self.like = contract, case, seed, like
        self._problem = problem = self._made()
        self._labelled = self._label(self._problem)
        # What a compiler may have specialised a call on: dtypes, shapes, strides, and plain values but floats.
        self.layout = repr([_layout(problem.arguments), _layout(problem.parameters), _layout(problem.init)])
        self.input_bytes = sum(tensor.numel() * tensor.element_size() for _, tensor in self._labelled)
        self._fingerprints = self._known_answer = None
        self._destinations = set()
        self._scales, self._truth, self._neighbour, self._tables = {}, None, None, None

    # Whether the inputs are those of a case but for one element.
    differs_in_one_element = False

    def _made(self):
        contract, case = self._contract, self.case
        if self.like is None:
            return _private(contract, case, contract.make(case, self.seed))
        return _private(contract, case, contract.vary(self.like.problem, case, self.seed))

    @staticmethod
    def _label(problem):
        tensors = [(f"parameter {name}", t) for name, t in problem.parameters.items() if isinstance(t, torch.Tensor)]
        return labelled_arguments(problem.arguments) + tensors

    # ------------------------------------------------------------------------------------------ inputs
    @property
    def problem(self):
        """The inputs; made anew if they were given up to save memory."""
        if self._problem is None:
            problem = self._made()
            self._labelled = self._label(problem)
            if self._take_fingerprints() != self.fingerprints:
                message = f"inputs of case {self.case.name} differ between two calls with seed {self.seed}: draw them "
                raise self._contract.failure(message + "from a generator that is seeded with `seed`")
            self._problem = problem
        return self._problem

    def neighbour(self):
        """The argument tensors of the next seed."""
        if self._neighbour is None:
            made = self._contract.make(self.case, self.seed + 1)
            self._neighbour = [tensor.detach() for tensor in flatten(made.arguments)]
        return self._neighbour

    def tables(self):
        """Positions of floating argument tensors that are the same for every seed and hold more than one value:
        sines and cosines, positions, masks. A kernel may know of their structure (both halves alike, say), which the
        contract does not tell; so they are not changed piece by piece. Empty where all floating arguments are so: these
        are the data then."""
        if self._tables is None:
            floating = {at: t for at, t in enumerate(flatten(self.problem.arguments)) if t.dtype.is_floating_point}
            # The only one is the data; and so are all where the device has no room for a second set.
            other = self._another_set() if len(floating) > 1 else []
            same = {at for at, t in floating.items() if at < len(other) and _is_same(t, other[at]) and _varies(t)}
            self._tables = frozenset(same if len(same) < len(floating) else ())
        return self._tables

    def _another_set(self):
        try:
            return self.neighbour()
        except Exception as error:  # the contract's code may raise anything
            if not is_out_of_memory(error):
                raise
            return []

    def give_up_inputs(self):
        _ = self.fingerprints  # to know them again
        self._problem, self._labelled, self._neighbour = None, None, None

    @property
    def fingerprints(self):
        """Of the inputs as they were made, in the order of `labels`."""
        if self._fingerprints is None:
            self._fingerprints = self._take_fingerprints()
        return self._fingerprints

    def _take_fingerprints(self):
        return [fingerprint_tensor(tensor) for _, tensor in self._labelled]

    def labels(self):
        """[(label, tensor)] of arguments, then parameters; in the order of `fingerprints`."""
        _ = self.problem
        return self._labelled

    def size(self):
        tensors = [tensor for _, tensor in self._labelled or []]
        tensors += self._neighbour or []
        tensors += self._known_answer.tensors() if self._known_answer is not None else []
        tensors += self._truth if self._has_truth() else []
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors if tensor is not None)

    # ------------------------------------------------------------------------------------------ answers
    @property
    def answer(self):
        if self._known_answer is None:
            self._known_answer = self._answer()
        return self._known_answer

    @property
    def destinations(self):
        """Positions among `labels` of tensors that take the answer (gpu-mode tasks only)."""
        _ = self.answer
        return self._destinations

    def _answer(self):
        contract, problem = self._contract, self.problem
        _ = self.fingerprints  # before the reference can write to what it is given
        arguments = problem.arguments
        if contract.destinations_allowed:
            arguments = [map_tensors(argument, copy_with_layout) for argument in arguments]
        answer = run_reference(contract, self.case, self.seed, problem, arguments, problem.parameters)
        self._check_finite(answer)
        if contract.destinations_allowed:
            self._find_destinations(arguments, answer)
        else:
            self._refuse_undeclared_writes()
        return answer

    def answer_for(self, arguments):
        """What the reference answers for other arguments of the same sizes."""
        if self._contract.destinations_allowed:
            arguments = [map_tensors(argument, copy_with_layout) for argument in arguments]
        return run_reference(self._contract, self.case, self.seed, self.problem, arguments, self.problem.parameters)

    def atol_factor(self, _group, _at):
        """By how much the absolute tolerance of a tensor of the answer is widened."""
        return 1.0

    def excuses(self, _group, _at, _tensor, _limits):
        """Whether a tensor that differs from the answer is right all the same."""
        return False

    def _check_finite(self, answer):
        if any(_count_nan(tensor)[0] for _, tensor in self._labelled):
            return
        for at, output in enumerate(answer.outputs):
            if not is_inexact(output.dtype) or not output.numel():
                continue
            count, first = _count_nan(output)
            if count:
                where = f"{count} of {output.numel()} elements of output {at}, the first at flat index {first}"
                raise self._contract.failure(f"the reference gives NaN for case {self.case.name}: {where}")
            if count_where(output, torch.isinf)[0] == output.numel():
                raise self._contract.failure(f"the reference gives nothing but infinities for case {self.case.name}")

    def _refuse_undeclared_writes(self):
        """The reference got copies of what MUTATES lists and the originals of everything else."""
        arguments = len(labelled_arguments(self.problem.arguments))
        for (label, tensor), before in list(zip(self._labelled, self.fingerprints))[:arguments]:
            if fingerprint_tensor(tensor) != before:
                raise self._contract.failure(f"the reference writes to {label}: list its position in MUTATES")

    def _find_destinations(self, written_to, answer):
        """Tensors of the data that take the answer: written by the reference, or shaped like an output and ignored."""
        contract, problem = self._contract, self.problem
        after = labelled_arguments(written_to)
        for at, ((_, tensor), before) in enumerate(zip(after, self.fingerprints)):
            if fingerprint_tensor(tensor) != before:
                self._destinations.add(at)
            elif any(tensor.shape == o.shape and tensor.dtype == o.dtype for o in answer.outputs):
                copies = [map_tensors(argument, copy_with_layout) for argument in problem.arguments]
                changed = replace_tensor(copies, at, tensor + 1 if tensor.dtype != torch.bool else ~tensor)
                other = run_reference(contract, self.case, self.seed, problem, changed, problem.parameters)
                if all(torch.equal(a, b) for a, b in zip(other.outputs, answer.outputs)):
                    self._destinations.add(at)

    def scale(self, group, at):
        """Root mean square of a tensor of the answer."""
        if (group, at) not in self._scales:
            self._scales[group, at] = root_mean_square(getattr(self.answer, group)[at])
        return self._scales[group, at]

    # ---------------------------------------------------------------------------------- float64 reference
    def truth(self):
        """The answer computed in float64 from the same inputs, or the reason (text) why there is none."""
        if self._truth is None:
            self._truth = self._compute_truth()
        return self._truth

    def _has_truth(self):
        return isinstance(self._truth, list)

    def _compute_truth(self):
        problem = self.problem
        arguments = [map_tensors(argument, _double) for argument in problem.arguments]
        parameters = map_tensors(problem.parameters, _double)
        try:
            answer = run_reference(self._contract, self.case, self.seed, problem, arguments, parameters)
        except Failure as failure:
            return f"the reference does not run in float64 ({failure.message})"
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return "there is not enough memory for the reference in float64"
        for output in answer.outputs + answer.mutated + answer.gradients:
            if output.dtype.is_floating_point and output.dtype != torch.float64:
                return f"the reference gives {str(output.dtype).removeprefix('torch.')} even for float64 inputs"
        return answer.outputs + answer.mutated + answer.gradients


def _layout(value):
    """A nest with tensors as (dtype, shape, stride) and floats left out."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.stride()
    if isinstance(value, dict):
        return {name: _layout(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_layout(item) for item in value]
    return float if isinstance(value, float) else value


def _double(tensor):
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor


def _count_nan(tensor):
    return count_where(tensor, torch.isnan) if is_inexact(tensor.dtype) else (0, None)


def _private(contract, case, problem):
    """Checks the tensors that the contract made and takes them out of any autograd graph."""

    def accept(tensor):
        if tensor.device.type != contract.device.type:
            text = f"inputs of case {case.name} lie on device {tensor.device}, but {contract.device} was asked for: "
            raise contract.failure(text + "make them with device=device")
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise contract.failure(
                f"inputs of case {case.name} have layout {tensor.layout}; only dense ones are supported"
            )
        return tensor.detach().resolve_conj().resolve_neg()

    problem.arguments = [map_tensors(argument, accept) for argument in problem.arguments]
    problem.parameters = map_tensors(problem.parameters, accept)
    return problem


def run_reference(contract, case, seed, problem, arguments, parameters):
    """The Answer for given inputs. Arguments in MUTATES and GRADS are copied, others passed as they are."""
    arguments = list(arguments)
    for at in contract.mutates:
        if not flatten(arguments[at]):
            raise contract.failure(f"MUTATES names input {at}, which is no tensor but {type(arguments[at]).__name__}")
        arguments[at] = map_tensors(arguments[at], copy_with_layout)
    for at in contract.grads:
        if not isinstance(arguments[at], torch.Tensor) or not arguments[at].is_floating_point():
            raise contract.failure(f"GRADS names input {at}, which is no floating-point tensor")
        arguments[at] = copy_with_layout(arguments[at]).requires_grad_()
    with contract.foreign(f"the reference fails for case {case.name}"):
        with torch.set_grad_enabled(bool(contract.grads)):
            nest = contract.reference(problem, arguments, parameters)
        outputs = flatten(nest)
        cotangents = cotangents_for(outputs, seed) if contract.grads else []
        gradients = _gradients(contract, arguments, outputs, cotangents)
        if contract.device.type == "cuda":
            torch.cuda.synchronize(contract.device)
    if not outputs and not contract.mutates:
        message = (
            f"the reference returns {type(nest).__name__} for case {case.name}: it must return a tensor or several"
        )
        raise contract.failure(message)
    for output in outputs:
        if output.device.type != contract.device.type:
            raise contract.failure(f"the reference returns a tensor on {output.device} for case {case.name}")
    aliases = [_alias(output, arguments) for output in outputs]
    return Answer(
        outputs=[_contiguous(output, alias) for output, alias in zip(outputs, aliases)],
        strides=[tuple(output.stride()) for output in outputs],
        aliases=aliases,
        like=map_tensors(nest, lambda tensor: tensor.new_empty(0).detach()),
        mutated=[tensor.detach() for at in contract.mutates for tensor in flatten(arguments[at])],
        gradients=gradients,
        cotangents=cotangents,
    )


def _contiguous(output, alias):
    own = output.detach().contiguous()
    return own.clone() if alias is not None and own.data_ptr() == output.data_ptr() else own


def _alias(output, arguments):
    memory = output.untyped_storage().data_ptr()
    for at, argument in enumerate(arguments):
        if memory and any(memory == tensor.untyped_storage().data_ptr() for tensor in flatten(argument)):
            return at
    return None


def cotangents_for(outputs, seed):
    """Standard normal upstream gradients, the same for every dtype: drawn in float32."""
    made = []
    for at, output in enumerate(output for output in outputs if output.is_floating_point()):
        generator = torch.Generator(output.device).manual_seed((seed * 1_000_003 + at + 1) % (1 << 63))
        drawn = torch.randn(output.shape, generator=generator, device=output.device)
        narrow = torch.float32 if output.dtype == torch.float64 else output.dtype
        made.append(drawn.to(narrow).to(output.dtype))
    return made


def _gradients(contract, arguments, outputs, cotangents):
    if not contract.grads:
        return []
    floating = [output for output in outputs if output.is_floating_point()]
    pairs = [(o, c) for o, c in zip(floating, cotangents) if o.requires_grad]
    if not pairs:
        raise contract.failure("no output of the reference depends on the inputs in GRADS")
    wanted = [arguments[at] for at in contract.grads]
    found = torch.autograd.grad([o for o, _ in pairs], wanted, [c for _, c in pairs], allow_unused=True)
    for at, gradient in zip(contract.grads, found):
        if gradient is None:
            raise contract.failure(f"GRADS names input {at}, but no output of the reference depends on it")
    return [gradient.detach().contiguous() for gradient in found]
