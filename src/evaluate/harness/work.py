"""What the reference of a case does: its operations, and the least bytes that it moves.

Counted by watching the operators that the reference calls, in one more call; for a large case on tensors
without memory, if it runs on such. The rules:

- Products, convolutions and attention count as torch's FlopCounterMode counts them (a multiplication
  and an addition are two), under the format of their operands, or of the inputs where the reference
  widens those; causal attention counts half.
- Everything else counts one operation an element: of the input for a reduction, else of the output.
  Views, copies, gathers and new tensors count nothing.
- An input counts the bytes that operators read of it, each once, and expanded dimensions not at all. An
  operator that gathers (embedding, index_select …) reads no more of its source than it writes.
- Outputs and inputs in MUTATES count the bytes of their elements.
"""

import collections
import math

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from .codec import flatten
from .contracts.source import is_out_of_memory
from .nest import copy_with_layout, map_tensors
from .wire import Failure

aten = torch.ops.aten

_PRECISIONS = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.float8_e4m3fn: "fp8",
    torch.float8_e5m2: "fp8",
    torch.int8: "int8",
    torch.uint8: "int8",
}
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8")

# Inputs and answers of a case that is simply run again: the machinery of fake tensors takes a second to load.
_CHEAP_BYTES = 256 << 20

# Products that FlopCounterMode does not know; their operands by position.
_MATRIX_TIMES_VECTOR = {aten.mv: 0, aten.addmv: 1, aten.addmv_: 1, aten.dot: 0, aten.vdot: 0}

# Operators that only move, make or describe memory.
_MOVEMENT = {
    *(aten.clone, aten.copy_, aten._to_copy, aten.cat, aten.stack, aten.constant_pad_nd, aten.repeat, aten.roll),
    *(aten.flip, aten.fill_, aten.fill, aten.zero_, aten.contiguous, aten._unsafe_view, aten.lift_fresh_copy),
    *(aten.empty, aten.empty_strided, aten.zeros, aten.ones, aten.full, aten.arange, aten.eye, aten.scalar_tensor),
    *(aten.embedding, aten.index, aten.index_select, aten.gather, aten.take, aten.masked_select, aten.nonzero),
    *(aten.scatter, aten.scatter_, aten.index_put, aten.index_put_, aten.index_copy, aten.index_copy_),
    *(aten._local_scalar_dense, aten.item),
}
# Operators that read tensors and give none.
_TO_THE_HOST = {aten._local_scalar_dense, aten.item, aten.equal, aten.is_nonzero}
# Operators that take a tensor only for its shape, dtype and device.
_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")
# Operators that read of their first tensor no more than they write.
_GATHERS = {aten.embedding, aten.index, aten.index_select, aten.gather, aten.take, aten.masked_select}
# Operators that write to their first tensor without reading it.
_OVERWRITES = {aten.copy_, aten.fill_, aten.zero_}


def count_work(contract, contents):
    """{"flops": {precision: n}, "elementwise", "bytes_in", "bytes_out", "declared"} of a case."""
    problem = contents.problem
    counted = None
    if contents.size() > _CHEAP_BYTES:
        try:
            counted = _count(contract, problem, fake=True)
        except Exception:  # whatever cannot be followed without values
            pass
    counted = counted or _count_for_real(contract, contents.case, problem)
    outputs = contents.answer.outputs
    overwritten = contents.answer.mutated
    if contract.destinations_allowed and not outputs:
        overwritten = [tensor for at, tensor in enumerate(flatten(problem.arguments)) if at in contents.destinations]
    found = {
        "flops": dict(counted.flops),
        "elementwise": counted.elementwise,
        "bytes_in": counted.bytes_read(),
        "bytes_out": sum(_own_bytes(tensor) for tensor in [*outputs, *overwritten]),
        "declared": [],
    }
    return _with_declarations(contract, contents, found)


def _count_for_real(contract, case, problem):
    try:
        with contract.foreign(f"the reference fails for case {case.name}"):
            return _count(contract, problem, fake=False)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise Failure("internal", "there is no memory for another call of the reference") from None


def _count(contract, problem, fake):
    arguments, parameters = problem.arguments, problem.parameters
    if fake:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        known = {}

        def change(tensor):
            if id(tensor) not in known:
                known[id(tensor)] = mode.from_tensor(tensor, static_shapes=True)
            return known[id(tensor)]

        arguments, parameters = map_tensors(arguments, change), map_tensors(parameters, change)
        with mode:
            return _watch(contract, problem, arguments, parameters)
    own = range(len(arguments)) if contract.destinations_allowed else contract.mutates
    arguments = [map_tensors(a, copy_with_layout) if at in own else a for at, a in enumerate(arguments)]
    return _watch(contract, problem, arguments, parameters)


def _watch(contract, problem, arguments, parameters):
    counter = Counter(flatten(arguments) + [p for p in parameters.values() if isinstance(p, torch.Tensor)])
    with torch.no_grad(), counter:
        contract.reference(problem, list(arguments), parameters)
    return counter


# ------------------------------------------------------------------------------------------- declarations
def _with_declarations(contract, contents, found):
    """What the contract states itself, flops(**case) and bytes(**case), in the place of what was counted."""
    flops = _declared(contract, contents.case, "flops", dict)
    if flops is not None:
        if not isinstance(flops, dict):
            flops = {_main_precision(contents, found): flops}
        unknown = sorted(set(map(str, flops)) - set(PRECISIONS))
        if unknown:
            raise contract.failure(f"flops gives {', '.join(unknown)}; formats are {', '.join(PRECISIONS)}")
        found.update(flops=flops, elementwise=0, declared=["flops"])
    least = _declared(contract, contents.case, "bytes")
    if least is not None:
        least = int(least)
        written = min(found["bytes_out"], least)
        found.update(bytes_in=least - written, bytes_out=written, declared=[*found["declared"], "bytes"])
    return found


def _declared(contract, case, name, *kinds):
    """What the contract's own function says for a case, checked; None where it has none."""
    function = contract.flops if name == "flops" else contract.bytes
    if function is None:
        return None
    if not callable(function):
        raise contract.failure(f"{name} is not a function")
    with contract.foreign(f"{name} fails for case {case.name}"):
        value = function(**case.call)
    for number in value.values() if isinstance(value, dict) and dict in kinds else [value]:
        good = isinstance(number, (int, float)) and not isinstance(number, bool)
        if not good or not math.isfinite(number) or not 0 <= number < 1 << 62:
            raise contract.failure(f"{name} gives {value!r} for case {case.name}: a number of at least 0 is needed")
    return value


def _main_precision(contents, found):
    """The format of most of the counted products, else that of the largest floating-point input."""
    if found["flops"]:
        return max(found["flops"], key=found["flops"].get)
    tensors = [tensor for _, tensor in contents.labels() if tensor.dtype in _PRECISIONS]
    return _PRECISIONS[max(tensors, key=torch.Tensor.numel).dtype] if tensors else "fp32"


# ------------------------------------------------------------------------------------------------ counting
class Counter(TorchDispatchMode):
    """Adds up while it is entered. `inputs` are the tensors whose bytes count when they are read."""

    supports_higher_order_operators = True

    def __init__(self, inputs):
        super().__init__()
        self.flops, self.elementwise = collections.Counter(), 0
        self._inputs = inputs  # kept alive: storages are known by their address
        floating = {t.dtype for t in inputs if t.dtype in _PRECISIONS and t.dtype.is_floating_point}
        self._widest = max(floating, key=lambda dtype: dtype.itemsize, default=torch.float64)
        self._memory = {}
        for tensor in inputs:
            self._memory.setdefault(_storage(tensor), Memory(tensor.untyped_storage().nbytes()))

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else the first operator imports torch's compiler, which takes seconds

    def bytes_read(self):
        return sum(memory.bytes_read() for memory in self._memory.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if isinstance(func, torch._ops.OpOverload):
            try:
                self._count(func, args, kwargs, result)
            except Exception:  # of an operator that is unlike those known here: less is counted
                pass
        return result

    def _count(self, func, args, kwargs, result):
        packet = func._overloadpacket
        name = packet.__name__.split("::")[-1]
        if func.is_view or name.startswith("new_") or name in _LIKE or torch.Tag.inplace_view in func.tags:
            return
        operands, written = _operands(func, packet, args, kwargs)
        outputs = flatten(result)
        if not outputs and not written and packet not in _TO_THE_HOST:
            return  # asks for a shape or a device
        size = max((tensor.numel() for tensor in outputs), default=0)
        self._read(packet, operands, outputs)
        if packet in flop_registry:
            self._product(flop_registry[packet](*args, **kwargs, out_val=result), func, args, kwargs, operands)
        elif packet in _MATRIX_TIMES_VECTOR:
            matrix = args[_MATRIX_TIMES_VECTOR[packet]]
            self._product(2 * matrix.numel(), func, args, kwargs, [matrix])
        elif packet is aten._int_mm:
            self._product(2 * args[0].numel() * args[1].shape[1], func, args, kwargs, operands)
        elif packet is aten._scaled_dot_product_flash_attention_for_cpu:
            query, key, value = args[:3]
            pairs = math.prod(query.shape[:3]) * key.shape[2]
            self._product(2 * pairs * (query.shape[3] + value.shape[3]), func, args, kwargs, operands)
        elif packet not in _MOVEMENT:
            if torch.Tag.reduction in func.tags:
                size = max([size, *(tensor.numel() for tensor in operands)])
            self.elementwise += size

    def _product(self, flops, func, args, kwargs, operands):
        if _argument(func, args, kwargs, "is_causal") is True:
            flops //= 2
        known = [tensor.dtype for tensor in operands if tensor.dtype in _PRECISIONS]
        dtype = known[0] if known else torch.float32
        if dtype.itemsize > self._widest.itemsize:  # widened by the reference; a kernel need not
            dtype = self._widest
        self.flops[_PRECISIONS[dtype]] += int(flops)

    def _read(self, packet, operands, outputs):
        for at, tensor in enumerate(operands):
            memory = self._memory.get(_storage(tensor))
            if memory is None:
                continue
            if at == 0 and packet in _GATHERS:
                memory.read_some(min(_own_bytes(tensor), sum(o.numel() for o in outputs) * tensor.element_size()))
            else:
                memory.read(tensor)


def _operands(func, packet, args, kwargs):
    """Tensors that an operator reads, and those that it writes to."""
    read, written = [], []
    for at, declared in enumerate(func._schema.arguments):
        value = args[at] if at < len(args) else kwargs.get(declared.name)
        tensors = flatten(value)
        if declared.alias_info is not None and declared.alias_info.is_write:
            written += tensors
            if packet in _OVERWRITES or torch.Tag.out_variant in func.tags or declared.kwarg_only:
                continue
        read += tensors
    return read, written


def _argument(func, args, kwargs, name):
    for at, declared in enumerate(func._schema.arguments):
        if declared.name == name:
            return args[at] if at < len(args) else kwargs.get(name)
    return None


def _storage(tensor):
    return tensor.untyped_storage()._cdata


def _own_bytes(tensor):
    """Bytes of a tensor's elements; what is expanded counts once."""
    sizes = [size for size, step in zip(tensor.shape, tensor.stride()) if step != 0 or size == 0]
    return math.prod(sizes) * tensor.element_size()


class Memory:
    """How much of one input was read. Different parts add up, and together are no more than the whole."""

    def __init__(self, size):
        self._size = size
        self._parts = {}  # bytes by (start, end, layout)
        self._some = 0

    def read(self, tensor):
        layout = sorted((step, size) for size, step in zip(tensor.shape, tensor.stride()) if size != 1 and step != 0)
        start = tensor.storage_offset() * tensor.element_size()
        length = (1 + sum((size - 1) * step for step, size in layout)) * tensor.element_size()
        if tensor.numel():
            self._parts[start, start + length, _merged(layout)] = min(_own_bytes(tensor), length)

    def read_some(self, size):
        """Bytes of which it is not known where they lie."""
        self._some += size

    def bytes_read(self):
        """A part inside a larger one that was read without gaps adds nothing."""
        total, whole = 0, []
        for (start, end, _), size in sorted(self._parts.items(), key=lambda part: part[0][0] - part[0][1]):
            if any(low <= start and end <= high for low, high in whole):
                continue
            total += size
            if size == end - start:
                whole.append((start, end))
        return min(self._size, total + self._some)


def _merged(layout):
    """Dimensions that continue each other as one, so that a reshaped view is the same part."""
    merged = []
    for step, size in layout:
        if merged and merged[-1][0] * merged[-1][1] == step:
            merged[-1] = (merged[-1][0], merged[-1][1] * size)
        else:
            merged.append((step, size))
    return tuple(merged)
