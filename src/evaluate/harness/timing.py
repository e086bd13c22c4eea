"""How long a call takes on the device, and on the host.

Shared by the referee and the child. Everything that measures is bound when this module is imported,
before any foreign code runs in the process; what was patched later in torch or time is not used.
"""
import ctypes
import time

import torch

_now = time.perf_counter_ns
_empty = torch.empty
_touch = torch.eq
_Event = torch.cuda.Event
_record = torch.cuda.Event.record
_elapsed_ms = torch.cuda.Event.elapsed_time
_await_event = torch.cuda.Event.synchronize
_synchronize = torch.cuda.synchronize
_current_stream = torch.cuda.current_stream
_sleep = torch.cuda._sleep
_library = ctypes.CDLL
_sorted, _float, _range, _max, _min, _len, _sum, _int = sorted, float, range, max, min, len, sum, int
_inf = float("inf")

# No present GPU clocks higher; on a slower one the wait is longer, which only costs time.
_CYCLES_PER_US = 2000
# The wait covers the host time of a call twice over and this much for everything else.
_SLACK_US = 30
_LONGEST_WAIT_US = 100_000
# A call of the driver before each timed call may take this long.
_QUICK_US = 50
# Of the L2 cache: to read one word of a line makes room for the whole of it.
_WORDS_A_LINE = 128 // 8
# Fewer calls than this have no median worth the name, however long they take.
LEAST_CALLS = 3


def median(values):
    ordered = _sorted(values)
    middle = _len(ordered) // 2
    return ordered[middle] if _len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def wait_for(host_us):
    """How long the device is kept waiting while the host queues a call that takes it `host_us`."""
    return _min(2 * host_us + _SLACK_US, _LONGEST_WAIT_US)


def enough(spent, enough_us):
    """Whether the calls so far took `enough_us` together, and are not too few."""
    return _len(spent) >= LEAST_CALLS and _sum(spent) >= (enough_us or _inf)


class Lap:
    """One timed call: what it returned, its time on the device and on the host, and for how long the device
    went on with something after the caller's stream was done; microseconds."""

    __slots__ = ("result", "device_us", "host_us", "tail_us")

    def __init__(self, result, device_us, host_us, tail_us):
        self.result, self.device_us, self.host_us, self.tail_us = result, device_us, host_us, tail_us


class Stopwatch:
    """Times single calls on one device.

    cuda: a call waits behind a sleeping kernel of `wait_us` until the host has queued it, so that the events
    enclose device time alone; before it, lines of `flush_bytes` are read to drive its data out of the L2 cache.
    (Written, they would leave the cache full of lines that the call has to wait for to be written back. A kernel
    that uses shared memory, as a sum does, would leave the multiprocessors set up for that.) Then the whole
    device is waited for: no work of one call can hide in the wait of the next.
    cpu: device time is the host's clock around the call, and nothing is flushed.
    """

    def __init__(self, device, flush_bytes):
        self._device = torch.device(device)
        self.lap = self._on_host if self._device.type == "cpu" else self._on_device
        if self._device.type == "cpu":
            return
        self._lines = None
        if flush_bytes:
            self._lines = _empty(flush_bytes // 8, dtype=torch.int64, device=self._device)[::_WORDS_A_LINE]
            self._touched = _empty(_len(self._lines), dtype=torch.bool, device=self._device)
        self._cycles = _SLACK_US * _CYCLES_PER_US
        self._begin, self._end = _Event(enable_timing=True), _Event(enable_timing=True)
        self._forget_persisting = _persisting_reset()
        start = _now()
        self._forget_persisting()
        # Where that is slow, once a burst must do.
        self._forget_at_every_lap = (_now() - start) / 1e3 < _QUICK_US

    def wait(self, wait_us):
        """Sets for how long the device waits before each call of the burst that begins."""
        if self._device.type != "cpu":
            self._cycles = _int(_max(wait_us, _SLACK_US) * _CYCLES_PER_US)
            self._forget_persisting()

    def _on_host(self, fn):
        start = _now()
        result = fn()
        spent = (_now() - start) / 1e3
        return Lap(result, spent, spent, 0.0)

    def _on_device(self, fn):
        stream = _current_stream(self._device)
        if self._forget_at_every_lap:
            self._forget_persisting()
        _sleep(self._cycles)
        if self._lines is not None:
            _touch(self._lines, 0, out=self._touched)
        _record(self._begin, stream)
        start = _now()
        result = fn()
        host_us = (_now() - start) / 1e3
        _record(self._end, stream)
        _await_event(self._end)
        done = _now()
        _synchronize(self._device)
        tail_us = (_now() - done) / 1e3
        return Lap(result, _float(_elapsed_ms(self._begin, self._end)) * 1e3, host_us, tail_us)


def _nothing():
    pass


def _persisting_reset():
    """What makes lines that were asked to stay in the L2 cache ordinary ones; does nothing where the driver has
    no such call or refuses it."""
    try:
        reset = _library("libcuda.so.1").cuCtxResetPersistingL2Cache
    except (OSError, AttributeError):
        return _nothing
    return reset if reset() == 0 else _nothing


def warm(fn, device, calls):
    """Calls `fn()` that often, at least once; the host time of the last one, since the first may compile."""
    on_device, host_us = torch.device(device).type != "cpu", 0.0
    for _ in _range(_max(calls, 1)):
        if on_device:
            _synchronize(device)
        start = _now()
        fn()
        host_us = (_now() - start) / 1e3
    if on_device:
        _synchronize(device)
    return host_us


def time_call(fn, device, warmup, repeat, flush_bytes, enough_us=None):
    """Times `fn()`: {"device_us": [one per call], "host_us": median of the host time of a call}.

    At most `repeat` calls are timed; fewer, but not under 3, where the calls so far took `enough_us` together.
    """
    on_device = torch.device(device).type != "cpu"
    host_us = warm(fn, device, warmup) if on_device or warmup else 0.0
    stopwatch = Stopwatch(device, flush_bytes)
    stopwatch.wait(wait_for(host_us))
    device_us, host = [], []
    while _len(device_us) < repeat and not enough(device_us, enough_us):
        lap = stopwatch.lap(fn)
        device_us.append(lap.device_us)
        host.append(lap.host_us)
        lap.result = None
    return {"device_us": device_us, "host_us": median(host)}
