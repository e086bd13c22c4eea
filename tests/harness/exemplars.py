"""The exemplars of the expert tasks, each with inputs and with what it must compute from them.

    TRITON_INTERPRET=1 python exemplars.py

runs each in Triton's interpreter, prints those that are wrong, and ends with status 1 if there is one.
"""
import importlib.util
import pathlib
import sys
import tempfile

import torch

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

TASKS = pathlib.Path(__file__).parents[2] / "src" / "generate" / "task" / "tasks"


def _attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1) @ v


def _layer_norm(x):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-5)


def _rms_norm(x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)


def _add_relu_norm(x, residual, weight):
    return _rms_norm(torch.relu(x + residual)) * weight


def _softmax_backward(x, lse, dy):
    weight = torch.exp(x - lse[:, None])
    return weight * (dy - (weight * dy).sum(-1, keepdim=True))


def _conv1d(x, w):
    return torch.nn.functional.conv1d(x, w, padding=w.shape[-1] // 2)


# name: (shapes of the inputs, reference). Sizes are ragged, except where the exemplar's task says that they may not be.
CHECKS = {
    "atomic-accumulation": ([(70, 300)], lambda x: x.sum(0)),
    "banded-window": ([(2, 5, 1030), (6, 5, 5)], _conv1d),
    "base-two-exponentials": ([(5, 300)], lambda x: torch.softmax(0.125 * x, -1)),
    "cheap-addresses": ([(2, 3, 1100), (3,)], lambda x, gain: x * gain[:, None]),
    "convolution-as-product": ([(2, 17, 70), (18, 17, 3)], _conv1d),
    "few-configurations": ([(5, 1100)], lambda x: x.amax(-1)),
    "fresh-design": ([(70, 1100), (1100,)], torch.matmul),
    "fuse-kernels": ([(5, 300), (5, 300), (300,)], _add_relu_norm),
    "fused-epilogue": ([(70, 40), (66, 40), (66,)], lambda x, w, bias: torch.relu(x @ w.T + bias) * 0.5),
    "grouped-order": ([(70, 40), (40, 140)], torch.matmul),
    "one-pass-moments": ([(5, 1100)], _layer_norm),
    "online-softmax": ([(5, 2100)], lambda x: torch.softmax(x, -1)),
    "operand-precision": ([(70, 40), (40, 66)], torch.matmul),
    "parameter-gradients": ([(300, 70), (300, 70)], lambda x, dy: (x * dy).sum(0)),
    "partition-output": ([(5, 70), (70, 100)], torch.matmul),
    "persistent-tiles": ([(600, 70), (70,)], lambda x, bias: x + bias),
    "pipelined-loop": ([(5, 2100)], lambda x: (x * x).sum(-1)),
    "producer-consumer-warps": ([(130, 72), (72, 136)], torch.matmul),
    "product-on-tensor-cores": ([(70, 40), (66, 40)], lambda q, k: q @ k.T),
    "recompute-in-backward": ([(5, 300), (5,), (5, 300)], _softmax_backward),
    "row-on-chip": ([(5, 300)], lambda x: torch.softmax(x, -1)),
    "rows-per-program": ([(70, 100)], lambda x: x.sum(-1)),
    "schedule-reuse": ([(70, 40), (40, 66)], torch.matmul),
    "second-pass-backwards": ([(5, 9000)], _rms_norm),
    "shape-dispatch": ([(5, 300)], lambda x: x.sum(-1)),
    "skip-empty-work": ([(70, 70), (70, 66)], lambda a, b: torch.tril(a) @ b),
    "split-off-statistics": ([(2, 9000)], lambda x: x / x.abs().amax(-1, keepdim=True)),
    "split-reduction": ([(5, 17000), (17000,)], torch.matmul),
    "stationary-operand": ([(2, 70, 32)] * 3, _attention),
    "tensor-descriptors": ([(130, 72), (72, 136)], torch.matmul),
    "tile-for-the-pipes": ([(70, 40), (40, 66)], torch.matmul),
    "tiny-problem": ([(5, 300)], lambda x: torch.nn.functional.glu(x, -1)),
    "transpose-on-chip": ([(70, 100)], lambda x: x.T.contiguous()),
    "unmasked-interior": ([(5, 1100)], lambda x: x.sum(-1)),
    "wide-accesses": ([(5, 1100)], lambda x: 0.5 * x),
}
# Both sides of a choice that the host makes.
FURTHER = {
    "banded-window": [[(2, 1, 600), (3, 1, 7)], [(1, 2, 300), (4, 2, 9)], [(2, 8, 640), (8, 8, 3)], [(1, 3, 70), (2, 3, 1)]],
    "shape-dispatch": [[(5, 2100)], [(5, 4096)]],
    "split-reduction": [[(600, 100), (100,)]],
    "tile-for-the-pipes": [[(5, 40), (40, 66)]],
    "unmasked-interior": [[(5, 2048)]],
}


def names():
    return sorted(path.stem for path in TASKS.glob("*.toml"))


def source(name):
    return tomllib.loads((TASKS / f"{name}.toml").read_text())["exemplar"]


def shapes(name):
    return [CHECKS[name][0], *FURTHER.get(name, [])]


def _load(name, folder):
    path = folder / f"{name.replace('-', '_')}.py"
    path.write_text(source(name))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _wrong(name, folder):
    """Why the exemplar's answer is not that of its reference, or None."""
    module = _load(name, folder)
    for case in shapes(name):
        generator = torch.Generator().manual_seed(5)
        inputs = [torch.randn(shape, generator=generator) for shape in case]
        if name == "recompute-in-backward":
            inputs[1] = torch.logsumexp(inputs[0], -1)
        try:
            output = module.kernel_function(*inputs)
            torch.testing.assert_close(output, CHECKS[name][1](*inputs), rtol=2e-4, atol=2e-4)
        except Exception as error:
            return f"{name} on {case}: {type(error).__name__}: {error}"
    return None


def main():
    with tempfile.TemporaryDirectory() as folder:
        # The interpreter cannot tune: the first configuration stands for all.
        import triton

        triton.autotune = lambda configs, key: lambda kernel: _First(kernel, configs[0])
        failures = [wrong for name in names() if (wrong := _wrong(name, pathlib.Path(folder)))]
    print(*failures, sep="\n")
    return bool(failures)


class _First:
    """A kernel with one configuration."""

    def __init__(self, kernel, config):
        self._kernel, self._config = kernel, config

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self._kernel[grid](*args, **kwargs, **self._config.kwargs)


if __name__ == "__main__":
    sys.exit(main())
