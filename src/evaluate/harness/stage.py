"""The shared buffers of one case: what a candidate's process reads its inputs from and writes answers to."""

import dataclasses

import torch

from .agreement import is_inexact
from .codec import contiguous_stride, describe_tensor, encode_argument, extent_bytes, view
from .nest import span


@dataclasses.dataclass
class Input:
    """One exported input tensor: its memory, which argument it belongs to (None: a parameter)."""

    label: str
    memory: torch.Tensor  # flat uint8, from its first element to its last
    argument: int | None


class Stage:
    """Filled for one seed at a time. Buffers are kept between fills as long as their sizes stay the same."""

    def __init__(self, exporter, numbers):
        self._exporter, self._numbers = exporter, numbers
        self._slots = []  # (number, Buffer)
        self._next = 0
        self.seed = None
        self._clear()

    def _clear(self):
        self.inputs, self.outputs, self.mutated, self.gradients = [], [], [], []

    def close(self):
        self._clear()
        self.seed = None
        for _, buffer in self._slots:
            buffer.close()
        self._slots = []

    def fill(self, contract, contents):
        """Copies the inputs, poisons what takes the answers, and describes everything for a child."""
        self._clear()
        self._next, self.seed = 0, None
        problem, answer = contents.problem, contents.answer
        encoded = {
            "case": contract.cases.index(contents.case),
            "seed": contents.seed,
            "arguments": [self._encode(contract, a, f"argument {at}", at) for at, a in enumerate(problem.arguments)],
            "parameters": {n: self._encode(contract, p, f"parameter {n}") for n, p in problem.parameters.items()},
            "init": [self._encode(contract, value, "an argument of Model") for value in problem.init],
            "init_seed": problem.init_seed,
            "outputs": [self._place_answer(tensor, self.outputs) for tensor in answer.outputs],
            "mutated": [self._place_answer(tensor, self.mutated) for tensor in answer.mutated],
            "cotangents": [self._place(tensor) for tensor in answer.cotangents],
            "gradients": [self._place_answer(tensor, self.gradients) for tensor in answer.gradients],
        }
        encoded["buffers"] = [buffer.describe(number) for number, buffer in self._slots[: self._next]]
        for (label, _), given in zip(contents.labels(), self.inputs):
            given.label = label
        self.seed = contents.seed
        if contract.device.type == "cuda":
            torch.cuda.synchronize(contract.device)  # other processes know nothing of our streams
        return encoded

    def _encode(self, contract, value, label, argument=None):
        def place(tensor):
            description = self._place(tensor, grad=argument in contract.grads)
            memory = self._slots[self._next - 1][1].memory
            if argument is not None or label.startswith("parameter "):
                size = extent_bytes(tensor.shape, tensor.stride(), tensor.element_size())
                self.inputs.append(Input(label, memory[:size], argument))
            return description

        try:
            return encode_argument(value, place)
        except TypeError as error:
            raise contract.failure(f"{label}: {error}") from None

    def _slot(self, size):
        """The next buffer, of `size` bytes rounded up to whole words."""
        size = -(-max(size, 1) // 16) * 16
        at, self._next = self._next, self._next + 1
        if at < len(self._slots) and self._slots[at][1].size == size:
            return self._slots[at]
        if at < len(self._slots):
            self._slots[at][1].close()
            del self._slots[at]
        self._slots.insert(at, (next(self._numbers), self._exporter.allocate(size)))
        return self._slots[at]

    def _place(self, tensor, grad=False):
        """Copies a tensor, gaps between its elements included, so that any strides survive."""
        number, buffer = self._slot(extent_bytes(tensor.shape, tensor.stride(), tensor.element_size()))
        flat = span(tensor)
        if flat.numel():
            memory = flat.view(torch.uint8)
            buffer.memory[: memory.numel()].copy_(memory)
        return describe_tensor(number, tensor.dtype, tensor.shape, tensor.stride(), grad=grad)

    def _place_answer(self, tensor, group):
        number, buffer = self._slot(tensor.numel() * tensor.element_size())
        description = describe_tensor(number, tensor.dtype, tensor.shape, contiguous_stride(tensor.shape))
        group.append(view(buffer.memory, description))
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
