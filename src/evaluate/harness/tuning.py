"""How long @triton.autotune looks at a configuration, and whoever else asks triton how long something takes.

It times each for 125 ms by default: with eight configurations and four cases 4 s of the GPU, before a candidate
that is to be ranked has been timed once. A few calls tell the configurations apart as well as they tell the
candidates.
"""
import triton.testing
from triton.backends.nvidia.driver import CudaDriver
from triton.runtime import driver

_CALLS = 5
# Calls that last longer are fewer.
_ENOUGH_MS = 10.0


def tune_briefly():
    """From now on, for this process. Called before a candidate is imported, and before anybody takes down what
    functions torch and triton have."""
    CudaDriver.get_benchmarker = lambda _self: benchmark
    # Where warmup or rep are given, the autotuner calls it by this name.
    triton.testing.do_bench = benchmark


def benchmark(fn, warmup=None, rep=None, grad_to_none=None, quantiles=None, return_mode="mean"):
    """In place of `triton.testing.do_bench`, with what it answers: a few calls, each with a cold L2 cache. The
    first one, which loads the kernel, is not timed."""
    active = driver.active
    fn()
    cache = active.get_empty_cache_for_benchmark()

    def time(calls):
        device = active.get_device_interface()
        pairs = [(device.Event(enable_timing=True), device.Event(enable_timing=True)) for _ in range(calls)]
        for start, end in pairs:
            for tensor in grad_to_none or ():
                tensor.grad = None
            active.clear_cache(cache)
            start.record()
            fn()
            end.record()
        device.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]

    times = time(1)
    more = min(_CALLS, int(_ENOUGH_MS / max(times[0], 1e-3)))
    if more > 1:
        times = time(more)
    return triton.testing._summarize_statistics(times, quantiles, return_mode)
