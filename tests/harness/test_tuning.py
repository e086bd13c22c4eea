"""Brief tuning, on a device of lists: how often a configuration is called, and what comes of it."""
import types
import unittest
from unittest import mock

import triton.testing
from conversation import HARNESS  # noqa: F401  (makes the package importable)
from kernelbrain_harness import tuning
from triton.backends.nvidia.driver import CudaDriver
from triton.runtime import autotuner


class Device:
    """A device whose clock stands still but for calls, of `latencies` milliseconds one after the other."""

    def __init__(self, latencies):
        self.latencies, self.now, self.calls, self.cleared = latencies, 0.0, 0, 0

    def call(self):
        self.now += self.latencies[min(self.calls, len(self.latencies) - 1)]
        self.calls += 1

    def get_empty_cache_for_benchmark(self):
        return []

    def clear_cache(self, _cache):
        self.now += 0.07
        self.cleared += 1

    def get_device_interface(self):
        device = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = device.now

            def elapsed_time(self, other):
                return other.at - self.at

        return types.SimpleNamespace(Event=Event, synchronize=lambda: None)


class BriefTuning(unittest.TestCase):
    def tuned(self, *latencies, **how):
        device = Device(latencies)
        with mock.patch.object(tuning, "driver", types.SimpleNamespace(active=device)):
            return tuning.benchmark(device.call, **how), device

    def test_a_few_calls_tell_the_time_of_one(self):
        time, device = self.tuned(500.0, 0.2, 0.2, 0.9, 0.2, 0.2, 0.2, quantiles=[0.5])
        self.assertAlmostEqual(time, 0.2, msg="neither the first call nor the one that was disturbed")
        self.assertEqual(device.calls, 7)
        self.assertEqual(device.cleared, 6, "each timed call finds a cold cache")

    def test_a_long_call_is_made_less_often(self):
        time, device = self.tuned(80.0)
        self.assertAlmostEqual(time, 80.0)
        self.assertEqual(device.calls, 2)
        self.assertEqual(self.tuned(4.0)[1].calls, 4)

    def test_it_answers_in_the_form_that_was_asked_for(self):
        latencies = 9.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0
        for how in ({}, {"warmup": 25, "rep": 100}):
            middle, low, high = self.tuned(*latencies, quantiles=(0.5, 0.2, 0.8), **how)[0]
            self.assertLess(low, middle)
            self.assertLess(middle, high)
        self.assertAlmostEqual(self.tuned(*latencies, quantiles=[0.5])[0], 3.0)
        self.assertAlmostEqual(self.tuned(*latencies, return_mode="max")[0], 5.0)
        self.assertEqual(len(self.tuned(*latencies, return_mode="all")[0]), 5)

    def test_gradients_do_not_add_up(self):
        tensor = types.SimpleNamespace(grad="of the call before")
        self.tuned(1.0, grad_to_none=[tensor])
        self.assertIsNone(tensor.grad)

    def test_an_autotuner_chooses_by_it(self):
        device, launched = Device([1.0]), []

        class Kernel:
            fn = staticmethod(lambda x, BLOCK: None)

            def run(self, _x, BLOCK, **_):
                device.now += BLOCK
                launched.append(BLOCK)

        device.get_benchmarker = lambda: tuning.benchmark
        active = types.SimpleNamespace(active=device)
        configurations = [triton.Config({"BLOCK": block}) for block in (4, 1, 2)]
        tuner = autotuner.Autotuner(Kernel(), ["x", "BLOCK"], configurations, ["x"], None, None)
        with mock.patch.object(tuning, "driver", active), mock.patch.object(autotuner, "driver", active):
            tuner.run(7)
        self.assertEqual(tuner.best_config.kwargs, {"BLOCK": 1})
        self.assertEqual(launched[-1], 1)
        self.assertEqual(launched.count(4), 1 + 1 + 2, "once to load it, once to look, and twice")

    def test_the_autotuner_finds_it_whichever_way_it_asks(self):
        usual = triton.testing.do_bench
        with mock.patch.object(triton.testing, "do_bench", usual), \
                mock.patch.object(CudaDriver, "get_benchmarker", CudaDriver.get_benchmarker):
            self.assertIs(CudaDriver.get_benchmarker(None), usual)
            tuning.tune_briefly()
            self.assertIs(CudaDriver.get_benchmarker(None), tuning.benchmark)
            self.assertIs(triton.testing.do_bench, tuning.benchmark)


if __name__ == "__main__":
    unittest.main()
