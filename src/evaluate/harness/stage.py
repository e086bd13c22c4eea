"""The shared buffers of one case: what a candidate's process reads its inputs from and writes answers to."""

import dataclasses

import torch

from .agreement import is_inexact
from .answers import cotangents_for
from .codec import contiguous_stride, describe_tensor, encode_argument, extent_bytes, view
from .contracts.source import is_out_of_memory
from .delivered import Delivered
from .nest import span
from .redzones import GUARD, RedZones


@dataclasses.dataclass
class Input:
    """One exported input tensor: its memory, which argument it belongs to (None: a parameter)."""

    label: str
    memory: torch.Tensor  # flat uint8, from its first element to its last
    argument: int | None
    zones: RedZones


# NaN in every floating-point format, as around it.
_NOTHING = 0xFF


class _Slots:
    """Buffers that are filled in order, again and again; kept as long as their sizes stay the same."""

    def __init__(self, exporter, numbers):
        self._exporter, self._numbers = exporter, numbers
        self._slots = []  # (number, Buffer)
        self._next = 0
        self.zones = []  # around each tensor

    def begin(self):
        self._next = 0
        self.zones = []

    def take(self, size, label):
        """Number of the next buffer and its memory for `size` bytes, between red zones that are named `label`."""
        number, buffer = self._buffer(-(-max(size, 1) // 16) * 16 + 2 * GUARD)
        self.zones.append(RedZones(label, buffer.memory, size))
        return number, buffer.memory

    def _buffer(self, size):
        at, self._next = self._next, self._next + 1
        if at < len(self._slots) and self._slots[at][1].size == size:
            return self._slots[at]
        if at < len(self._slots):
            self._slots[at][1].close()
            del self._slots[at]
        self._slots.insert(at, (next(self._numbers), self._exporter.allocate(size)))
        return self._slots[at]

    def place(self, tensor, label, grad=False):
        """Copies a tensor, gaps between its elements included, so that any strides survive; returns its description
        and its memory."""
        size = extent_bytes(tensor.shape, tensor.stride(), tensor.element_size())
        number, memory = self.take(size, label)
        memory = memory[GUARD : GUARD + size]
        if size:
            memory.copy_(span(tensor).view(torch.uint8))
        return describe_tensor(number, tensor.dtype, tensor.shape, tensor.stride(), GUARD, grad), memory

    def describe(self):
        return [buffer.describe(number) for number, buffer in self._slots[: self._next]]

    def wipe(self):
        for _, buffer in self._slots:
            buffer.memory.fill_(_NOTHING)

    def close(self):
        for _, buffer in self._slots:
            buffer.close()
        self._slots = []
        self.begin()


class _Set:
    """One set of inputs, filled for one seed at a time."""

    def __init__(self, exporter, numbers):
        self.slots = _Slots(exporter, numbers)
        self.seed, self.inputs, self.encoded = None, [], {}

    def fill(self, contract, contents, number, outputs):
        """`outputs` look like the answer's: each set has upstream gradients of its own."""
        self.slots.begin()
        self.seed, self.inputs = None, []
        problem = contents.problem
        self.encoded = {
            "case": number,
            "seed": contents.seed,
            "arguments": [self._encode(contract, a, f"argument {at}", at) for at, a in enumerate(problem.arguments)],
            "parameters": {n: self._encode(contract, p, f"parameter {n}") for n, p in problem.parameters.items()},
            "init": [self._encode(contract, value, "an argument of Model") for value in problem.init],
            "init_seed": problem.init_seed,
            "cotangents": [
                self.slots.place(tensor, "an upstream gradient")[0]
                for tensor in (cotangents_for(outputs, contents.seed) if contract.grads else [])
            ],
        }
        for (label, _), given in zip(contents.labels(), self.inputs):
            given.label = given.zones.label = label
        self.seed = contents.seed

    def forget(self):
        """A child has the memory of every set open: what a set holds before it is filled again is for nobody."""
        if self.seed is not None:
            self.seed, self.inputs = None, []
            self.slots.wipe()

    def _encode(self, contract, value, label, argument=None):
        def place(tensor):
            description, memory = self.slots.place(tensor, label, grad=argument in contract.grads)
            if argument is not None or label.startswith("parameter "):
                self.inputs.append(Input(label, memory, argument, self.slots.zones[-1]))
            return description

        try:
            return encode_argument(value, place)
        except TypeError as error:
            raise contract.failure(f"{label}: {error}") from None


class Stage:
    """Several sets of inputs at different addresses, so that calls in a row find neither values nor addresses that
    they know, and one landing for the answer of the call that is to be judged."""

    def __init__(self, exporter, numbers):
        self._exporter, self._numbers = exporter, numbers
        self._sets = []
        self._shown = []  # those that were filled last: a child opens these
        self._landing, self._landed = _Slots(exporter, numbers), {}
        self._like = []  # tensors that look like the answer's
        self.probe = None
        self.delivered = Delivered()
        self._clear()

    def _clear(self):
        self.seed, self.inputs = None, []
        self.outputs, self.mutated, self.gradients = [], [], []
        self.zones = []  # around each tensor of the set that was landed for, and around the landing

    def close(self):
        self._clear()
        for each in self._sets:
            each.slots.close()
        self._landing.close()
        self._sets, self._shown, self._landed, self._like = [], [], {}, []

    # ------------------------------------------------------------------------------------------- filling
    def fill(self, contract, contents, number):
        """One set and the landing: copies the inputs of case `number`, poisons what takes the answers, describes all
        for a child."""
        self._shown = [self._set(0)]
        for other in self._sets[1:]:
            other.forget()
        self._shown[0].fill(contract, contents, number, contents.answer.outputs)
        return self.land(contract, contents)

    def fill_sets(self, contract, found, number):
        """A set for each of `found` (Contents), or as many as there is memory for, at least one."""
        if not self._landed:
            self.fill(contract, found[0], number)  # a child must know what answers look like
        filled = []
        for at, contents in enumerate(found):
            try:
                each = self._set(at)
                each.fill(contract, contents, number, self._like)
            except Exception as error:
                if not filled or not is_out_of_memory(error):
                    raise
                self._drop_from(at)
                break
            filled.append(each)
        self._shown = filled
        self._await(contract)
        return [self._describe(each) for each in filled]

    def land(self, contract, contents):
        """The landing for the answer to the inputs that `contents` filled a set with; None where it filled none."""
        self._clear()
        each = next((each for each in self._shown if each.seed == contents.seed), None)
        if each is None:
            return None
        answer = contents.answer
        self._landing.begin()
        self._landed = {
            "outputs": [self._place_answer(tensor, self.outputs) for tensor in answer.outputs],
            "mutated": [self._place_answer(tensor, self.mutated) for tensor in answer.mutated],
            "gradients": [self._place_answer(tensor, self.gradients) for tensor in answer.gradients],
        }
        self.seed, self.inputs, self._like = contents.seed, each.inputs, self.outputs
        self.zones = each.slots.zones + self._landing.zones
        self._await(contract)
        return self._describe(each)

    def _set(self, at):
        if at == len(self._sets):
            self._sets.append(_Set(self._exporter, self._numbers))
        return self._sets[at]

    def _drop_from(self, at):
        for each in self._sets[at:]:
            each.slots.close()
        del self._sets[at:]

    def _describe(self, each):
        """Names the buffers of all sets, so that a child opens them once and keeps them open."""
        buffers = [buffer for other in self._sets for buffer in other.slots.describe()] + self._landing.describe()
        return {**each.encoded, **self._landed, "buffers": buffers}

    @staticmethod
    def _await(contract):
        if contract.device.type == "cuda":
            torch.cuda.synchronize(contract.device)  # other processes know nothing of our streams

    def _place_answer(self, tensor, group):
        number, memory = self._landing.take(tensor.numel() * tensor.element_size(), "the buffer for an answer")
        description = describe_tensor(number, tensor.dtype, tensor.shape, contiguous_stride(tensor.shape), GUARD)
        group.append(view(memory, description))
        poison(group[-1])
        return description


# A pattern that is no likely answer of integers and no bool at all.
_NO_ANSWER = 0xA5


def poison(tensor):
    """Fills a contiguous tensor with NaN, or with a pattern where there is no NaN."""
    if not tensor.numel():
        return
    if is_inexact(tensor.dtype) and tensor.element_size() > 1:
        tensor.fill_(float("nan"))
    elif is_inexact(tensor.dtype):
        nan = torch.tensor(float("nan")).to(tensor.dtype).view(torch.uint8).item()
        tensor.view(torch.uint8).fill_(nan)
    else:
        tensor.view(-1).view(torch.uint8).fill_(_NO_ANSWER)
