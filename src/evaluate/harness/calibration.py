"""What a GPU reaches at best: bandwidths, products in each format, the least time of a launch.

Every figure is the best of several kernels and many groups of back-to-back calls between two events: a
ceiling is what the device can do, not what it does on average. Data is random, because products of zeros
draw less power and so run at higher clocks than any real ones.
"""

import os
import time

import torch

from . import calibration_kernels as kernels
from .timing import time_call
from .wire import Failure, Wire, end_with_peer, serve

# A buffer must be far larger than any L2 cache, and leave room on a device that others use.
_LARGEST_BUFFER = 2 << 30
_SMALLEST_BUFFER = 64 << 20
# Rows, columns and depth of products: large enough for every multiprocessor, small enough for any device.
_SIDES = (8192, 4096)
# One group of calls between two events takes about this long.
_GROUP_MS = 15.0
_MOST_IN_A_GROUP = 64
_LEAST_GROUPS = 3


class Skip(Exception):
    """Why something is not measured on this device."""


class Budget:
    """Seconds to spend, shared out among steps."""

    def __init__(self, ends, now=time.monotonic):
        self._ends, self._now = ends, now

    def left(self):
        return self._ends - self._now()

    def share(self, steps, most):
        """Seconds for the next of `steps` that are left; half of it goes to what cannot be timed."""
        return max(min(self.left() / max(steps, 1) / 2, most), 0.0)


def measure(steps, budget, most):
    """Runs `steps`, (name, function of seconds) pairs; (values by name, reasons by name of those skipped)."""
    values, skipped = {}, {}
    for at, (name, step) in enumerate(steps):
        if budget.left() <= 0:
            skipped[name] = "time ran out; `kernelbrain calibrate` takes longer"
            continue
        try:
            values[name] = step(budget.share(len(steps) - at, most))
        except Skip as reason:
            skipped[name] = str(reason)
        except Exception as error:  # a library without the operator, a lack of memory, a lost device
            lines = str(error).strip().splitlines()
            skipped[name] = f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:300]
    return values, skipped


# ------------------------------------------------------------------------------------------------- timing
def fastest_ms(calls, seconds):
    """Milliseconds of a call of the fastest of `calls`: the least mean of a group. A call that fails drops out,
    unless all do."""
    best, failure = None, None
    for call in calls:
        try:
            ms = _fastest_group_ms(call, seconds / len(calls))
        except Exception as error:
            failure = error
            continue
        best = ms if best is None else min(best, ms)
    if best is None:
        raise failure
    return best


def _fastest_group_ms(call, seconds):
    once = _group_ms(call, 1)
    once = min(once, _group_ms(call, 1))  # the first compiles, chooses an algorithm, fills caches
    size = int(min(max(_GROUP_MS / max(once, 1e-3), 1), _MOST_IN_A_GROUP))
    best, groups, ends = once, 0, time.monotonic() + seconds
    while groups < _LEAST_GROUPS or time.monotonic() < ends:
        best = min(best, _group_ms(call, size) / size)
        groups += 1
    return best


def _group_ms(call, size):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(size):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


# ------------------------------------------------------------------------------------------------- memory
class MemoryPaths:
    """Bandwidths of one device, GB/s. Its buffers live as long as it does."""

    def __init__(self, device, facts):
        self._device, self._facts = device, facts
        free, _ = torch.cuda.mem_get_info(device)
        self._size = min(_LARGEST_BUFFER, free // 8) // _SMALLEST_BUFFER * _SMALLEST_BUFFER
        if self._size == 0:
            raise Skip(f"only {free} bytes of the device are free")
        self._source = torch.randn(self._size // 4, device=device)

    def copy(self, seconds):
        """A copy by torch: bytes read and written."""
        source, target = self._source, torch.empty_like(self._source)
        calls = [lambda: target.copy_(source), lambda: torch.neg(source, out=target)]
        return _gbps(2 * self._size, fastest_ms(calls, seconds))

    def read(self, seconds):
        """A sum that is spread over the device."""
        source = self._source
        calls = [lambda: source.view(1024, -1).sum(dim=1)]
        for block, warps in ((4096, 4), (8192, 8), (16384, 8)):
            programs = source.numel() // block
            sink = torch.empty(programs, device=self._device)
            calls.append(_launch(kernels.read_once, programs, source, sink, BLOCK=block, num_warps=warps))
        return _gbps(self._size, fastest_ms(calls, seconds))

    def read_l2(self, seconds):
        """A quarter of the cache, read over and over."""
        cache = self._facts.L2_cache_size
        if not cache:
            raise Skip("the device does not tell the size of its L2 cache")
        block, rounds = 4096, 64
        blocks = max(cache // 4 // (4 * block), 1)
        programs = 8 * self._facts.multi_processor_count
        sink = torch.empty(programs, device=self._device)
        call = _launch(kernels.read_again, programs, self._source, sink, blocks, rounds, BLOCK=block, num_warps=8)
        return _gbps(programs * rounds * block * 4, fastest_ms([call], seconds))


def _launch(kernel, programs, *arguments, **options):
    return lambda: kernel[(programs,)](*arguments, **options)


def _gbps(size, ms):
    return size / ms * 1e-6


def launch_floor_us(device):
    """Device time of a kernel that does nothing, measured as every latency is."""
    pointer = torch.zeros(1, device=device)
    call = _launch(kernels.do_nothing, 1, pointer)
    times = sorted(time_call(call, device, 5, 60, 0)["device_us"])
    return times[len(times) // 2]


# ------------------------------------------------------------------------------------------------ products
def product(device, facts, precision, sides, seconds):
    """10¹² operations a second of the best product of square matrices, in one format."""
    best = 0.0
    for side in sides:
        calls = _products(device, (facts.major, facts.minor), precision, side)
        best = max(best, 2 * side**3 / fastest_ms(calls, seconds / len(sides)) * 1e-9)
    return best


def _products(device, capability, precision, side):
    """Calls of the library with the second operand in either layout, where it takes both."""
    if precision in ("fp32", "tf32"):
        if precision == "tf32" and capability < (8, 0):
            raise Skip("the device has no TF32")
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        return _matmuls(device, torch.float32, side)
    if precision == "bf16":
        if capability < (8, 0):
            raise Skip("the device has no bfloat16 units")
        return _matmuls(device, torch.bfloat16, side)
    if precision == "fp16":
        return _matmuls(device, torch.float16, side)
    if precision == "fp8":
        if capability < (8, 9):
            raise Skip("the device has no FP8 units")
        a, b = (torch.randn(side, side, device=device).to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.ones((), device=device)

        def scaled():
            torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)

        return [scaled]
    if capability < (7, 5):
        raise Skip("the device has no INT8 units")
    a, b = (torch.randint(-128, 128, (side, side), dtype=torch.int8, device=device) for _ in range(2))
    return [lambda: torch._int_mm(a, b.t()), lambda: torch._int_mm(a, b)]


def _matmuls(device, dtype, side):
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    out = torch.empty(side, side, device=device, dtype=dtype)
    return [lambda: torch.mm(a, b, out=out), lambda: torch.mm(a, b.t(), out=out)]


# --------------------------------------------------------------------------------------------------- whole
# The first ones matter most where time is short.
_FORMATS = ("bf16", "fp16", "tf32", "fp32", "fp8", "int8")


def calibrate(device, ends, thorough):
    """Every figure of `device` that can be had before the clock shows `ends`."""
    facts = torch.cuda.get_device_properties(device)
    sides = _SIDES if thorough else _SIDES[:1]
    with torch.cuda.device(device), torch.no_grad():
        memory = MemoryPaths(device, facts)
        steps = [
            ("copy", memory.copy),
            ("bf16", lambda seconds: product(device, facts, "bf16", sides, seconds)),
            ("read", memory.read),
            ("launch_floor", lambda _: launch_floor_us(device)),
            ("l2", memory.read_l2),
        ]
        for precision in _FORMATS[1:]:
            steps.append((precision, lambda s, p=precision: product(device, facts, p, sides, s)))
        values, skipped = measure(steps, Budget(ends), most=1.5 if thorough else 0.12)
    return {
        "device_name": facts.name,
        "l2_bytes": facts.L2_cache_size,
        "read_gbps": values.get("read"),
        "copy_gbps": values.get("copy"),
        "l2_gbps": values.get("l2"),
        "launch_floor_us": values.get("launch_floor"),
        "products": {name: values[name] for name in _FORMATS if name in values},
        "skipped": skipped,
    }


def main(started):
    def run(request):
        device = torch.device(request["device"])
        if device.type != "cuda" or not torch.cuda.is_available():
            raise Failure("device", "torch finds no usable CUDA device: check `nvidia-smi` and the driver")
        try:
            return calibrate(device, started + request["seconds"], request["thorough"])
        except Skip as reason:
            raise Failure("device", str(reason)) from None
        except torch.OutOfMemoryError as error:
            raise Failure("out_of_memory", str(error)) from None

    wire = Wire.take_stdin()
    end_with_peer(wire)
    serve(wire, {"calibrate": run})
    os._exit(0)
