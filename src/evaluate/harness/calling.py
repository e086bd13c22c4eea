"""Calling a candidate once, with everything observed."""
import contextlib

import torch

from . import codec, observing, readiness, within
from .arithmetic import Arithmetic
from .buffers import OutOfMemory, open_buffer
from .conduct import Conduct, addresses, went_on, write_late
from .launches import Launches
from .poison import output_sizes, poisoned
from .warming import warm_up
from .wire import Failure

_PLAIN = (torch.Tensor, torch.nn.Parameter)


class Memory:
    """The shared buffers that are open in this process. Those that a call does not need are closed, unless they are
    held: those of other cases are needed again, and opening one waits for the driver."""

    def __init__(self, device):
        self._device = device
        self._open = {}  # by path or handle, since a buffer's number may be given anew
        self._named = {}  # by number: all that are open
        self._held, self._held_named = frozenset(), {}

    def hold(self, descriptions):
        """Opens buffers and keeps them open."""
        self._held, self._held_named = frozenset(), {}
        self.use(descriptions)
        self._held, self._held_named = frozenset(self._open), dict(self._named)

    def use(self, descriptions):
        wanted = {description.get("path") or description["ipc"]: description for description in descriptions}
        for where in self._open.keys() - wanted.keys() - self._held:
            self._open.pop(where).close()
        for where in wanted.keys() - self._open.keys():
            try:
                self._open[where] = open_buffer(wanted[where], self._device)
            except (OutOfMemory, torch.OutOfMemoryError) as error:
                raise Failure("out_of_memory", str(error)) from None
        named = {description["buffer"]: self._open[where] for where, description in wanted.items()}
        self._named = {**self._held_named, **named}

    def close(self):
        self.hold([])

    def tensor(self, description):
        tensor = codec.view(self._named[description["buffer"]].memory, description)
        return tensor.requires_grad_() if description["grad"] else tensor

    def buffer_at(self, start, end):
        """Number of the buffer that shares a byte with the addresses [start, end), or None."""
        for number, buffer in self._named.items():
            base = buffer.memory.data_ptr()
            if start < base + buffer.size and base < end:
                return number
        return None


class Caller:
    """Runs one candidate's calls on one device."""

    def __init__(self, candidate_binder, device, witness):
        self._binder = candidate_binder
        self._device = device
        self._witness = witness
        self._memory = Memory(device)
        self._conduct = Conduct(device)
        self._written = []  # which of the flattened arguments the last run wrote its answer over

    def attach(self, inputs):
        """Opens the device and the buffers, and has everything loaded that the first call would wait for."""
        if self._device != "cpu":
            torch.zeros(1, device=self._device)
            within.note("context")
        self._memory.hold(inputs["buffers"])
        within.note("open buffers")
        if self._device != "cpu":
            warm_up(self._device, {place["dtype"] for place in inputs["outputs"]})
            within.note("warm up")
        return {}

    def prepare(self, inputs, binaries, plan):
        """Takes memory for a burst after `plan`, and loads `binaries`: without a launch."""
        if self._device != "cpu":
            readiness.reserve(self._device, output_sizes(inputs["outputs"]), plan)
            within.note("take memory")
            readiness.load(binaries, self._device)
            within.note("load binaries")
        return {}

    def run(self, inputs, call, muted=False, late=False, watched=False):
        """One call: {"returned", "gradients", "launched", "launched_back", "observed"}. With `muted` its launches do nothing; with
        `late` the caller's stream writes the inputs only while the call is made; with `watched` torch's operators
        are noticed, in the backward pass too."""
        bound = self._bind(inputs)
        within.note("bind")
        self._conduct.remember()
        watch = Arithmetic(self._binder.path, codec.flatten(bound.arguments)) if watched else None
        with poisoned(self._device, inputs["outputs"]), Launches(muted) as launches:
            within.note("poison")
            if late:
                write_late(codec.flatten(bound.arguments), self._device)
            with torch.set_grad_enabled(bool(call["grads"])):
                self._conduct.begin(bound)
                self._witness.begin()
                with watch or contextlib.nullcontext():
                    result = bound.call()
                require_plain_nest(result)
                # Muting replaces functions itself.
                observed = [] if muted else self._witness.look()
            outputs = codec.flatten(result)
            for tensor in outputs:
                require_plain(tensor)
            observed += self._conduct.end(outputs, bound)
            # The caller's stream only: who works elsewhere must have made this one wait.
            within.note("call")
            self._synchronize_stream()
            within.note("finish")
        answer, differentiable = self._deliver(result, bound, inputs, call)
        self._synchronize_stream()
        landed = [self._landing(tensor, place) for tensor, place in zip(outputs, inputs["outputs"])]
        self._synchronize()
        within.note("deliver")
        observed += went_on(outputs, landed) + self._conduct.disturbed()
        within.note("compare with what was delivered")
        self._written = self._written_over(result, bound, inputs, call)
        if call["grads"]:
            self._witness.begin()
        with watch or contextlib.nullcontext(), Launches() as back:
            answer["gradients"] = self._gradients(differentiable, bound, inputs, call)
        self._synchronize()
        if call["grads"] and not muted:
            observed += self._witness.look()
        observed += watch.found if watch else []
        return {**answer, "launched": launches.names, "launched_back": back.names, "observed": observed}

    def observe(self, inputs, what):
        """`rest`, then `memory`: what one call takes; `bounds`: whether it writes outside of what it allocates."""
        bound = self._bind(inputs)
        if what == "rest":
            observing.at_rest(self._device)
            return {}
        if what == "memory":
            return {"extra_bytes": observing.extra_memory(bound.call, self._device, self._synchronize)}
        return observing.within_bounds(bound.call, self._device, self._synchronize)

    def _written_over(self, result, bound, inputs, call):
        """Positions among the flattened arguments of the memory that a call works on in place."""
        arguments = codec.flatten(bound.arguments)
        if call["mutates"]:
            mutated = {id(tensor) for at in call["mutates"] for tensor in codec.flatten(bound.arguments[at])}
            return [at for at, tensor in enumerate(arguments) if id(tensor) in mutated]
        if result is None:
            places = [(place["dtype"], place["shape"]) for place in inputs["outputs"]]
            looks = [(codec.dtype_name(tensor.dtype), list(tensor.shape)) for tensor in arguments]
            return [at for at, look in enumerate(looks) if look in places]
        returned = [addresses(tensor) for tensor in codec.flatten(result)]
        spans = [addresses(tensor) for tensor in arguments]
        return [at for at, (start, end) in enumerate(spans) if any(start < high and low < end for low, high in returned)]

    def _bind(self, inputs):
        self._memory.use(inputs["buffers"])
        return _Bound(*self._binder.bind(inputs, self._memory.tensor, self._device))

    def _synchronize(self):
        if self._device != "cpu":
            torch.cuda.synchronize(self._device)

    def _synchronize_stream(self):
        if self._device != "cpu":
            torch.cuda.current_stream(self._device).synchronize()

    def _deliver(self, result, bound, inputs, call):
        """Copies outputs and mutated inputs to where they are awaited.

        Returns the answer so far, and the outputs that gradients flow from, None for those without.
        """
        outputs = outputs_of(result, bound, call)
        for tensor in outputs:
            require_plain(tensor)
        described = [self._describe(tensor, bound) for tensor in outputs]
        self._land(outputs, inputs["outputs"])
        mutated = [tensor for at in call["mutates"] for tensor in codec.flatten(bound.arguments[at])]
        self._land(mutated, inputs["mutated"])
        floating = [tensor for tensor in outputs if tensor.is_floating_point()]
        differentiable = [tensor if tensor.requires_grad else None for tensor in floating]
        return {"returned": described}, differentiable if any(t is not None for t in differentiable) else []

    def _land(self, tensors, places):
        """What does not fit its place is left out: the referee judges by the description."""
        with torch.no_grad():
            for tensor, place in zip(tensors, places):
                landing = self._landing(tensor, place)
                if landing is not None:
                    landing.copy_(tensor)

    def _landing(self, tensor, place):
        """Where the tensor is awaited, if it fits there."""
        fits = tensor.dtype == codec.dtype_of(place["dtype"]) and list(tensor.shape) == place["shape"]
        if fits and tensor.device == torch.device(self._device):
            return self._memory.tensor({**place, "grad": False})
        return None

    def _describe(self, tensor, bound):
        return {
            "dtype": codec.dtype_name(tensor.dtype),
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()),
            "device": str(tensor.device),
            "alias": self._alias(tensor, bound),
        }

    def _alias(self, tensor, bound):
        """Which argument, weight or other shared buffer the tensor shares memory with."""
        start, end = addresses(tensor)
        if start == end:
            return None
        labelled = [({"argument": at}, value) for at, value in enumerate(bound.arguments)]
        labelled += [({"parameter": name}, value) for name, value in bound.weights.items()]
        for label, value in labelled:
            for other in codec.flatten(value):
                low, high = addresses(other)
                if start < high and low < end:
                    return label
        number = self._memory.buffer_at(start, end)
        return None if number is None else {"buffer": number}

    def _differentiated(self, bound, inputs, call):
        """The inputs whose gradients are wanted, and the upstream gradients."""
        wanted = [tensor for at in call["grads"] for tensor in codec.flatten(bound.arguments[at])]
        return wanted, [self._memory.tensor({**place, "grad": False}) for place in inputs["cotangents"]]

    def _gradients(self, differentiable, bound, inputs, call):
        """Copies and describes the gradients; None for an input that no output depends on."""
        if not call["grads"]:
            return None
        wanted, upstream = self._differentiated(bound, inputs, call)
        gradients = [None] * len(wanted)
        if differentiable:
            gradients = list(gradients_of(differentiable, wanted, upstream))
        for gradient, place in zip(gradients, inputs["gradients"]):
            if gradient is not None:
                require_plain(gradient, lazy=True)
                self._land([gradient], [place])
        return [None if gradient is None else self._describe(gradient, bound) for gradient in gradients]


class _Bound:
    def __init__(self, call, arguments, weights):
        self.call, self.arguments, self.weights = call, arguments, weights


def gradients_of(outputs, wanted, upstream):
    pairs = [(output, gradient) for output, gradient in zip(outputs, upstream) if output is not None]
    outputs, upstream = zip(*pairs)
    return torch.autograd.grad(outputs, wanted, upstream, allow_unused=True)


def outputs_of(result, bound, call):
    """What was returned, flattened. A call that returns None and may write to inputs worked in place:
    its outputs are those inputs."""
    if result is not None:
        return codec.flatten(result)
    return [tensor for at in call["mutates"] for tensor in codec.flatten(bound.arguments[at])]


_NESTS = ((tuple, "__iter__"), (list, "__iter__"), (dict, "values"))
# More than any contract has. An answer that describes so many tensors still fits a line of the protocol.
_DEEPEST, _MOST_TENSORS, _MOST_VALUES = 32, 4096, 1 << 17


def require_plain_nest(value):
    """A tuple of a class of its own can compute when it is iterated over, and a list can hold itself."""
    open_nests, values, tensors = [iter((value,))], 0, 0
    while open_nests:
        item = next(open_nests[-1], _END)
        if item is _END:
            open_nests.pop()
            continue
        values, tensors = values + 1, tensors + (type(item) in _PLAIN)
        if tensors > _MOST_TENSORS:
            raise Failure("call", f"the call returned more than {_MOST_TENSORS} tensors")
        if values > _MOST_VALUES:
            raise Failure("call", f"the call returned a nest of more than {_MOST_VALUES} values")
        items = _items(item)
        if items is not None:
            open_nests.append(items)
        if len(open_nests) > _DEEPEST:
            raise Failure("call", f"the call returned lists, tuples or dicts more than {_DEEPEST} deep in one another:"
                                  " is one of them an item of itself?")


def _items(value):
    """An iterator over a nest; None for everything else."""
    for kind, reading in _NESTS:
        if isinstance(value, kind):
            if getattr(type(value), reading) is not getattr(kind, reading):
                raise Failure("integrity", f"the call returned a {_kind(value)}, which is no plain {kind.__name__}:"
                                           " it may compute when it is looked at")
            return iter(getattr(kind, reading)(value))
    return None


_END = object()


def require_plain(tensor, lazy=False):
    """A subclass can compute when it is looked at, or answer every comparison with yes. Only a gradient may be
    conjugated or negated `lazy`, when it is read: torch itself makes them so."""
    if type(tensor) not in _PLAIN:
        raise Failure("integrity", f"the call returned a {_kind(tensor)}: an output must be a plain torch.Tensor")
    if tensor.layout is not torch.strided:
        raise Failure("call", f"the call returned a tensor of layout {tensor.layout}: an output must be strided")
    if not lazy and (_is_conj(tensor) or _is_neg(tensor)):
        how, remedy = ("conjugated", "resolve_conj") if _is_conj(tensor) else ("negated", "resolve_neg")
        raise Failure("call", f"the call returned a tensor that is {how} only when it is read, as by .conj() or .imag:"
                              f" an output must hold its values ({remedy} writes them out)")


_is_conj, _is_neg = torch.Tensor.is_conj, torch.Tensor.is_neg


def _kind(value):
    """The name of the value's class, whose metaclass is not asked for it."""
    kind = type(value)
    return f"{_module_of(kind)}.{_qualified_name(kind)}"


_module_of, _qualified_name = type.__dict__["__module__"].__get__, type.__dict__["__qualname__"].__get__
