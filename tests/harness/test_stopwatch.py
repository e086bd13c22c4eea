"""The device half of a timed call, with a device that only writes down what is asked of it."""

import types
import unittest
from unittest import mock

import torch
from conversation import HARNESS  # noqa: F401  (makes the package importable)
from kernelbrain_harness import bursts, timing


class Tape:
    """Stands for torch.cuda; `tails` are the host's waits for the device after each call, nanoseconds."""

    def __init__(self, tails=(), device_ms=0.25, reset_code=0, library=True):
        self.asked, self._tails, self._device_ms = [], list(tails), device_ms
        self._clock, self._reset_code, self._has_library = 0, reset_code, library

    def patch(self):
        def note(name, result=None):
            return lambda *arguments, **_: (self.asked.append((name, *map(str, arguments[1:]))), result)[1]

        def synchronize(_):
            self.asked.append(("synchronize",))
            self._clock += self._tails.pop(0) if self._tails else 5_000

        def sleep(cycles):
            self.asked.append(("sleep", cycles))

        def library(_):
            if not self._has_library:
                raise OSError
            return types.SimpleNamespace(cuCtxResetPersistingL2Cache=self._reset)

        stream = types.SimpleNamespace(__str__=lambda self: "stream")
        fakes = {
            "_now": lambda: self._clock,
            "_empty": lambda size, dtype, device: torch.empty(size, dtype=dtype),
            "_touch": note("flush"),
            "_Event": lambda enable_timing: object(),
            "_record": note("record"),
            "_elapsed_ms": lambda begin, end: self._device_ms,
            "_await_event": note("await"),
            "_synchronize": synchronize,
            "_current_stream": lambda device: stream,
            "_sleep": sleep,
            "_library": library,
        }
        return mock.patch.multiple(timing, **fakes)

    def _reset(self):
        self.asked.append(("reset",))
        return self._reset_code

    def names(self):
        return [name for name, *_ in self.asked]


class Laps(unittest.TestCase):
    def lap(self, tape, wait_us=100):
        with tape.patch():
            stopwatch = timing.Stopwatch("cuda:0", 64)
            stopwatch.wait(wait_us)
            tape.asked.clear()
            return stopwatch.lap(lambda: tape.asked.append(("call",)) or "answer")

    def test_the_call_is_queued_behind_a_wait_and_a_flush_and_enclosed_by_events(self):
        tape = Tape()
        lap = self.lap(tape)
        order = ["reset", "sleep", "flush", "record", "call", "record", "await", "synchronize"]
        self.assertEqual(tape.names(), order)
        self.assertIn(("sleep", 200_000), tape.asked)
        self.assertEqual((lap.result, lap.device_us, lap.tail_us), ("answer", 250.0, 5.0))

    def test_work_behind_the_callers_back_is_a_tail(self):
        self.assertEqual(self.lap(Tape(tails=[98_000])).tail_us, 98.0)

    def test_a_driver_that_cannot_reset_persisting_lines_is_not_asked_again(self):
        for tape in (Tape(reset_code=801), Tape(library=False)):
            self.lap(tape)
            self.assertNotIn("reset", tape.names())

    def test_the_wait_covers_the_host_and_is_never_endless(self):
        self.assertEqual(timing.wait_for(20), 70)
        self.assertEqual(timing.wait_for(10**9), 100_000)

    def test_time_call_warms_up_and_ends_when_it_took_long_enough(self):
        tape, calls = Tape(device_ms=40.0), []
        with tape.patch():
            timed = timing.time_call(lambda: calls.append(1), "cuda:0", 2, 10, 64, enough_us=100_000)
        self.assertEqual(timed["device_us"], [40_000.0] * 3)
        self.assertEqual(len(calls), 5)


class Room(unittest.TestCase):
    """Memory for answers on a device, where it may be short."""

    PLACE = {"dtype": "float32", "shape": [1024], "stride": [1], "buffer": 0, "offset": 0, "grad": False}

    def room(self, free, keep=4, repeat=8):
        caller, poisoned = bursts.BurstCaller(None, "cuda:0", None), []
        ready = bursts._Ready([], [])
        fakes = {
            "_memory_info": lambda device: (free, free),
            "poison_freed_blocks": lambda *arguments: poisoned.append(arguments),
            "torch": types.SimpleNamespace(empty=lambda size, dtype, device: torch.empty(size, dtype=dtype), uint8=torch.uint8),
        }
        with mock.patch.multiple(bursts, **fakes):
            for _ in range(2):
                caller._make_room(ready, {"outputs": [self.PLACE], "mutated": []}, {"keep": keep, "repeat": repeat})
        return ready, poisoned

    def test_copies_and_poisoned_blocks_for_the_calls_of_a_burst(self):
        ready, poisoned = self.room(1 << 30)
        self.assertEqual([buffer.numel() for buffer in ready.room], [4096] * 4)
        self.assertEqual(poisoned, [("cuda:0", [4096], 10)] * 2)

    def test_where_memory_is_short_there_is_one_copy_made_when_it_is_needed(self):
        ready, _ = self.room(4096)
        self.assertEqual(ready.room, [None])
        ready, _ = self.room(4096 * 8 * 2)
        self.assertEqual(len(ready.room), 2)

    def test_nothing_is_kept_that_nobody_will_ask_for(self):
        self.assertEqual(self.room(1 << 30, keep=0)[0].room, [])


if __name__ == "__main__":
    unittest.main()
