"""How long a call takes on the device, and on the host.

Shared by the referee and the child. Everything that measures is bound when this module is imported,
before any foreign code runs in the process; what was patched later in torch or time is not used.
"""
import time

import torch

_now = time.perf_counter_ns
_empty = torch.empty
_zero = torch.Tensor.zero_
_Event = torch.cuda.Event
_record = torch.cuda.Event.record
_elapsed_ms = torch.cuda.Event.elapsed_time
_synchronize = torch.cuda.synchronize
_current_stream = torch.cuda.current_stream
_sleep = torch.cuda._sleep
_sorted, _float, _range, _max, _min, _len, _sum, _int = sorted, float, range, max, min, len, sum, int
_inf = float("inf")

# No present GPU clocks higher; on a slower one the wait is longer, which only costs time.
_CYCLES_PER_US = 2000
# The wait covers the host time of a call twice over and this much for everything else.
_SLACK_US = 30
_LONGEST_WAIT_US = 100_000
# Launches wait in a queue of about a thousand; the host must not be stopped by a full one.
_QUEUED = 16
# Fewer calls than this have no median worth the name, however long they take.
_LEAST_CALLS = 3


def _median(values):
    ordered = _sorted(values)
    middle = _len(ordered) // 2
    return ordered[middle] if _len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def time_call(fn, device, warmup, repeat, flush_bytes, enough_us=None, before=None):
    """Times `fn()`, with `before()` ahead of each call and outside what is timed; returns {"device_us": [one per call], "host_us": median of the host time of a call}.

    At most `repeat` calls are timed; fewer, but not under 3, where the calls so far took `enough_us` together.

    cuda: every repeat waits behind a sleeping kernel until the host has queued it, so that the events
    enclose device time alone; before it, `flush_bytes` are written to drive its data out of the L2 cache.
    cpu: device time is the host's clock around the call, and nothing is flushed.
    """
    if torch.device(device).type == "cpu":
        return _time_on_host(fn, warmup, repeat, enough_us or _inf, before or _nothing)
    return _time_on_device(fn, torch.device(device), warmup, repeat, flush_bytes, enough_us or _inf, before or _nothing)


def _nothing():
    pass


def _enough(spent, enough_us):
    return _len(spent) >= _LEAST_CALLS and _sum(spent) >= enough_us


def _time_on_host(fn, warmup, repeat, enough_us, before):
    for _ in _range(warmup):
        before()
        fn()
    spent = []
    while _len(spent) < repeat and not _enough(spent, enough_us):
        before()
        start = _now()
        fn()
        spent.append((_now() - start) / 1e3)
    return {"device_us": spent, "host_us": _median(spent)}


def _time_on_device(fn, device, warmup, repeat, flush_bytes, enough_us, before):
    flush = _empty(flush_bytes, dtype=torch.uint8, device=device) if flush_bytes else None
    host_us = call_us = 0.0
    for _ in _range(_max(warmup, 1)):
        before()
        _synchronize(device)
        start = _now()
        fn()
        host_us = (_now() - start) / 1e3  # the last one counts: the first may compile
        _synchronize(device)
        call_us = (_now() - start) / 1e3

    wait_us = _min(2 * host_us + _SLACK_US, _LONGEST_WAIT_US)
    queued = _min(_QUEUED, _max(_LEAST_CALLS, _int(enough_us / call_us))) if enough_us < _inf else _QUEUED
    stream, device_us, host = _current_stream(device), [], []
    while _len(device_us) < repeat and not _enough(device_us, enough_us):
        pairs = []
        for _ in _range(_min(queued, repeat - _len(device_us))):
            begin, end = _Event(enable_timing=True), _Event(enable_timing=True)
            before()
            _sleep(_int(wait_us * _CYCLES_PER_US))
            if flush is not None:
                _zero(flush)
            _record(begin, stream)
            start = _now()
            fn()
            host.append((_now() - start) / 1e3)
            _record(end, stream)
            pairs.append((begin, end))
        _synchronize(device)
        device_us += [_float(_elapsed_ms(begin, end)) * 1e3 for begin, end in pairs]
    return {"device_us": device_us, "host_us": _median(host)}
