"""Bursts: calls of a candidate in a row, each on inputs that it has not seen, timed.

What a call returned is looked at and copied away at once, before anything of the candidate's can run again:
an answer that comes later, or with the next call, is not in the copy. A few of the copies, drawn at random, are
kept until the parent has said which one it wants to see. Functions that this rests on are bound when the module
is imported, before the candidate is.
"""
import collections
import random

import torch

from . import codec, readiness, timing, within
from .calling import Caller, gradients_of, outputs_of, require_plain, require_plain_nest
from .poison import poison_freed_blocks
from .wire import Failure

_draw = random.SystemRandom().randrange
_copy = torch.Tensor.copy_
_clone = torch.Tensor.clone
_detach = torch.Tensor.detach
_memory_info = torch.cuda.mem_get_info
_no_grad = torch.no_grad
_is_recording, _set_recording = torch.is_grad_enabled, torch._C._set_grad_enabled
_flatten = codec.flatten
_len, _range, _min, _max, _bool = len, range, min, max, bool


# Of a backward pass that nobody has timed yet.
_UNKNOWN_HOST_US = 2000.0


class _Kept:
    """What one call of a burst returned and wrote, copied right after it; its gradients, if they were timed."""

    __slots__ = ("call", "at", "outputs", "mutated", "returned", "result", "gradients")


class _Ready:
    """Sets of inputs that calls are bound to, and the room for what they return."""

    def __init__(self, sets, bound):
        self.sets, self.bound = sets, bound
        self.originals = []  # per set: (tensor that a call writes to, its copy)
        self.room = []  # flat buffers that take copies, one a kept call; None where there is no memory for one
        self.spare = None  # one more, for copies that nobody asks for
        self.last = None  # (number of its set, what it returned, what was called) of a burst's last call
        self.alive = 1


class BurstCaller(Caller):
    """A Caller that also times."""

    def __init__(self, binder, device, witness):
        super().__init__(binder, device, witness)
        self._ready, self._kept, self._steps = None, [], []  # steps: per call of a burst, whether it was copied
        self._alive = collections.deque()  # (number, that of its set, what it returned) of a burst's last calls
        self._backward_host_us = None  # of the last backward pass
        self._room, self._stopwatch = (None, []), (None, None)

    def ready(self, sets, call, plan):
        """Everything that need not be on the clock: buffers, bindings, room for answers. Or, with `warmup`, that many
        calls on the first set and no burst after them. {"host_us": of the last of these, or null}."""
        self._kept, self._steps = [], []
        self._alive.clear()
        ready = self._ready = _Ready(sets, [self._bind(inputs) for inputs in sets])
        within.note("bind")
        if self._stopwatch[0] != plan["flush_bytes"]:
            self._stopwatch = plan["flush_bytes"], timing.Stopwatch(self._device, plan["flush_bytes"])
        within.note("stopwatch")
        if not plan["warmup"]:
            self._make_room(ready, sets[0], plan)
            within.note("room")
        if plan["repeat"] > _len(sets) or plan["warmup"] > 1:
            ready.originals = [self._originals(bound) for bound in ready.bound]
        host_us = None
        if plan["warmup"]:

            def once():
                self._restore(0)
                ready.bound[0].call()

            host_us = timing.warm(once, self._device, plan["warmup"])
            self._ready = None
        self._synchronize()
        within.note("calls")
        return {"host_us": host_us}

    def burst(self, call, plan):
        """At most `repeat` calls on the sets in turn: {"device_us", "host_us", "tail_us", "kept", "observed"}."""
        ready, stopwatch = self._open(plan)
        within.note("open")
        self._kept, self._steps = [], []
        self._alive = alive = collections.deque(maxlen=ready.alive)
        spent, host, tails = [], [], []
        recording = _is_recording()
        _set_recording(_bool(call["grads"]))
        self._witness.begin()
        while _len(spent) < plan["repeat"] and not timing.enough(spent, plan["enough_us"]):
            number = _len(spent)
            at = number % _len(ready.sets)
            if number >= _len(ready.sets):
                self._restore(at)
            lap = stopwatch.lap(ready.bound[at].call)
            self._keep(number, at, lap.result, call)
            ready.last = at, lap.result, call
            spent.append(lap.device_us)
            host.append(lap.host_us)
            tails.append(lap.tail_us)
            alive.append((number, at, lap.result))
        within.note("calls")
        observed = self._witness.look()
        within.note("look")
        _set_recording(recording)
        if not call["grads"]:
            alive.clear()  # nothing flows back, and the memory is wanted
        return {
            "device_us": spent,
            "host_us": timing.median(host),
            "tail_us": tails,
            "observed": observed,
            "kept": [{"call": kept.call, "set": kept.at} for kept in self._kept],
        }

    def pace(self, plan):
        """What the last burst took besides its calls: the same once more without them, down to the looks at what a
        call returned and the copies of it. The parent's clock is what matters here, so that nothing is told."""
        ready, stopwatch = self._open(plan)
        if ready.last is None:
            raise Failure("internal", "there was no burst whose pace could be taken")
        at, result, call = ready.last
        self._witness.begin()
        for number, copied in enumerate(self._steps):
            if number >= _len(ready.sets):
                self._restore(number % _len(ready.sets))
            stopwatch.lap(_nothing)
            self._taken(number, at, result, call, [ready.spare] if copied else [])
        self._witness.look()
        self._synchronize()
        return {}

    def backward(self, call, plan):
        """Times the backward passes of the last burst's last calls, each once, since a pass may overwrite what its
        forward pass has saved: {"device_us": null where nothing flows back}. A request of its own: a burst has to
        explain what passed on the parent's clock."""
        ready, stopwatch = self._open(plan)
        kept = {kept.call: kept for kept in self._kept}
        spent = []
        while self._alive:
            number, at, result = self._alive.popleft()
            flowing = self._flowing(result, ready.bound[at], call)
            if not flowing:
                continue
            wanted, upstream = self._differentiated(ready.bound[at], ready.sets[at], call)
            if number in kept and not self._has_room_for(wanted):
                continue  # its only pass is left to whoever asks for its answer
            known_us = self._backward_host_us
            stopwatch.wait(timing.wait_for(_UNKNOWN_HOST_US if known_us is None else known_us))
            lap = stopwatch.lap(lambda: gradients_of(flowing, wanted, upstream))
            self._backward_host_us = lap.host_us
            if number in kept:
                kept[number].gradients = self._copied(lap.result, ready.bound[at])
            # The first may have to compile.
            if known_us is not None or not self._alive:
                spent.append(lap.device_us)
        return {"device_us": spent or None}

    def _has_room_for(self, tensors):
        """Whether copies of their size take little of the memory that is left."""
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        return self._device == "cpu" or size < _memory_info(self._device)[0] // 8

    def _flowing(self, result, bound, call):
        """The outputs that gradients flow from, None for those without; empty where there are none."""
        floating = [tensor for tensor in outputs_of(result, bound, call) if tensor.is_floating_point()]
        flowing = [tensor if tensor.requires_grad else None for tensor in floating]
        return flowing if any(tensor is not None for tensor in flowing) else []

    def _copied(self, gradients, bound):
        """(copy, description) of each gradient, None for those that there are not."""
        for gradient in gradients:
            if gradient is not None:
                require_plain(gradient, lazy=True)
        return [None if g is None else (_clone(_detach(g)), self._describe(g, bound)) for g in gradients]

    def deliver(self, number, inputs, call):
        """Copies what call `number` of the last burst returned to where it is awaited; describes it."""
        kept = next((kept for kept in self._kept if kept.call == number), None)
        if kept is None:
            raise Failure("internal", f"call {number} of the last burst was not kept")
        self._memory.use(inputs["buffers"])
        self._land(kept.outputs, inputs["outputs"])
        self._land(kept.mutated, inputs["mutated"])
        gradients = None
        if kept.gradients is not None:
            # Its backward pass was timed; another one may find nothing to begin with.
            for gradient, place in zip(kept.gradients, inputs["gradients"]):
                if gradient is not None:
                    self._land(gradient[:1], [place])
            gradients = [gradient and gradient[1] for gradient in kept.gradients]
        elif call["grads"]:
            bound = self._ready.bound[kept.at]
            gradients = self._gradients(self._flowing(kept.result, bound, call), bound, inputs, call)
        self._synchronize()
        return {"returned": kept.returned, "gradients": gradients}

    def rest(self):
        """Gives back what the next burst can have again: memory of the device above all."""
        self._ready, self._kept, self._steps = None, [], []
        self._alive.clear()
        self._room, self._stopwatch = (None, []), (None, None)
        self._memory.close()
        if self._device != "cpu":
            torch.cuda.empty_cache()
        return {}

    # ----------------------------------------------------------------------------------------- keeping
    def _keep(self, number, at, result, call):
        """Looks at what a call returned and, drawn evenly among the calls so far, copies it."""
        places = _len(self._ready.room)
        place = number if number < places else _draw(number + 1)
        self._steps.append(place < places)
        kept = self._taken(number, at, result, call, self._ready.room[place : place + 1])
        if kept is not None:
            self._kept[place : place + 1] = [kept]

    def _taken(self, number, at, result, call, room):
        """What call `number` on set `at` returned, looked at and copied to `room`, the place for it; not copied
        where there is none."""
        bound = self._ready.bound[at]
        require_plain_nest(result)
        outputs = outputs_of(result, bound, call)
        for tensor in outputs:
            require_plain(tensor)
        if not room:
            return None
        kept = _Kept()
        kept.call, kept.at = number, at
        kept.result, kept.gradients = result if call["grads"] else None, None
        kept.returned = [self._describe(tensor, bound) for tensor in outputs]
        mutated = [tensor for position in call["mutates"] for tensor in _flatten(bound.arguments[position])]
        buffers = _Pieces(room[0])
        with _no_grad():
            kept.outputs = [buffers.copy(tensor) for tensor in outputs]
            kept.mutated = [buffers.copy(tensor) for tensor in mutated]
        return kept

    def _make_room(self, ready, inputs, plan):
        """Allocates what copies go to, and poisons blocks for the calls to write their answers to: nothing is
        allocated by the driver while a call is timed."""
        places = [_bytes_of(place) for place in inputs["outputs"] + inputs["mutated"]]
        size, on_device = _max(16, sum(map(_padded, places))), self._device != "cpu"
        if self._room[0] != (size, plan["keep"]):
            self._room = None, []
            buffers = plan["keep"]
            if on_device:
                buffers = _min(buffers, _memory_info(self._device)[0] // 8 // size)
            made = [torch.empty(size, dtype=torch.uint8, device=self._device) for _ in _range(buffers and buffers + 1)]
            self._room = (size, plan["keep"]), made or [None] * _min(2, 2 * plan["keep"])
        ready.room, ready.spare = self._room[1][:-1], self._room[1][-1] if self._room[1] else None
        if on_device:
            outputs = [_bytes_of(place) for place in inputs["outputs"]]
            ready.alive = readiness.kept_alive(outputs, plan["repeat"])
            poison_freed_blocks(self._device, outputs, readiness.blocks_for(ready.alive))

    # ---------------------------------------------------------------------------------------- restoring
    def _originals(self, bound):
        """Every call must find its inputs as they were: copies of those that calls write to."""
        arguments = _flatten(bound.arguments)
        return [(arguments[at], _clone(_detach(arguments[at]))) for at in self._written if at < _len(arguments)]

    def _restore(self, at):
        if self._ready.originals:
            with _no_grad():
                for tensor, before in self._ready.originals[at]:
                    _copy(tensor, before)

    # ---------------------------------------------------------------------------------------- gradients

    def _open(self, plan):
        if self._ready is None:
            raise Failure("internal", "nothing is ready to be timed")
        self._stopwatch[1].wait(plan["wait_us"])
        return self._ready, self._stopwatch[1]


class _Pieces:
    """Cuts a flat buffer into places for tensors; without a buffer, or where it is too small, makes new ones."""

    def __init__(self, buffer):
        self._buffer, self._next = buffer, 0

    def copy(self, tensor):
        size = tensor.numel() * tensor.element_size()
        end = self._next + _padded(size)
        if self._buffer is None or end > self._buffer.numel() or tensor.device != self._buffer.device:
            return _clone(_detach(tensor))
        place = self._buffer[self._next : self._next + size].view(tensor.dtype).view(tensor.shape)
        self._next = end
        return _copy(place, _detach(tensor))


def _nothing():
    pass


def _padded(size):
    return -(-size // 16) * 16


def _bytes_of(place):
    shape = place["shape"]
    return codec.extent_bytes(shape, codec.contiguous_stride(shape), codec.dtype_of(place["dtype"]).itemsize)
