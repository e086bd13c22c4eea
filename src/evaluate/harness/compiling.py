"""Compiling a candidate's kernels without a GPU: no CUDA context is made and nothing is launched.

The entry is called once on fake tensors, which have shapes and no memory. Every launch on the way
stops after compilation. What is compiled stays in Triton's cache in the scratch folder, where the
first real call finds it.
"""
import contextlib
import importlib
import os
import re
import subprocess
import tempfile
import types

import torch
import torch._subclasses.fake_tensor as fake_tensor
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import driver as nvidia
from triton.backends.nvidia.compiler import CUDABackend, get_ptxas_version
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner
from triton.runtime.cache import triton_key
from triton.runtime.driver import driver as active_driver
from triton.runtime.errors import AutotunerError, OutOfResources, PTXASError
from triton.runtime.jit import JITFunction

from . import codec, identity
from .binding import Binder
from .blame import describe, failure

_FakeTensor, _FakeTensorMode = fake_tensor.FakeTensor, fake_tensor.FakeTensorMode
_compile_or_launch = JITFunction.run
_make_ptx = CUDABackend.make_ptx
_CUOBJDUMP = os.path.join(os.path.dirname(nvidia.__file__), "bin", "cuobjdump")
# CUDA gives allocations this alignment at least.
_FAKE_ADDRESS = 1 << 40
# Shared memory that one block may ask for, bytes, by compute capability (CUDA C++ Programming Guide,
# "Technical Specifications per Compute Capability"). A capability that is not listed is not checked.
_SHARED_BYTES = {
    70: 96 << 10, 75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10,
    90: 227 << 10, 100: 227 << 10, 103: 227 << 10, 120: 99 << 10, 121: 99 << 10,
}
_REFUSED = (CompilationError, OutOfResources, PTXASError, AutotunerError)
# What the autotuner takes as "this configuration does not do".
_UNFIT = (OutOfResources, CompileTimeAssertionFailure, PTXASError)


class _OfflineDriver:
    """As much of Triton's CUDA driver as compiling asks for."""

    launcher_cls = nvidia.CudaLauncher

    def __init__(self, device, capability, properties):
        self._properties = properties
        self._index = torch.device(device).index or 0
        self._arch = capability[0] * 10 + capability[1]
        self.utils = self

    def get_current_device(self):
        return self._index

    def get_current_stream(self, _device):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", self._arch, 32)

    def get_active_torch_device(self):
        return torch.device("cuda", self._index)

    def get_device_interface(self):
        return torch.cuda

    def map_python_to_cpp_type(self, ty):
        return nvidia.ty_to_cpp(ty)

    def get_device_properties(self, _device):
        known = self._properties
        names = {
            "multiprocessor_count": "multi_processor_count",
            "warpSize": "warp_size",
            "max_num_regs": "regs_per_multiprocessor",
        }
        facts = {name: getattr(known, theirs) for name, theirs in names.items() if hasattr(known, theirs)}
        return {"max_shared_mem": self.shared_bytes(), **facts}

    def shared_bytes(self):
        return _SHARED_BYTES.get(self._arch, 1 << 30)


def prepare(capability):
    """In the zygote: what every child would find out or import anew. It costs seconds; failing costs nothing,
    since the children then try for themselves."""
    # The first mode imports torch._dynamo, which takes as long as importing torch. It is not entered here: an
    # operation under it counts the GPUs, after which no forked process can use one, and starts threads.
    with contextlib.suppress(Exception):
        _FakeTensorMode(allow_non_fake_inputs=True)
        importlib.import_module("triton.experimental.gluon.nvidia.hopper")  # the first launch does
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Exception):
        before = os.environ.get("TRITON_CACHE_DIR")
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            triton_key()
            get_ptxas_version(capability[0] * 10 + capability[1])
            nvidia.library_dirs()
            nvidia.CudaUtils()
            # There is one, but each child that asked for it would run the C compiler again.
            nvidia.CudaUtils.__init__ = lambda _utils: None
        finally:
            if before is None:
                del os.environ["TRITON_CACHE_DIR"]
            else:
                os.environ["TRITON_CACHE_DIR"] = before


def compile_offline(candidate, inputs, call, device, capability, properties):
    """{"kernels": [{kernel, registers, spills, shared_bytes}], "skipped": None or why something was not compiled,
    "identity": of the program in this case, None where not all of it was seen,
    "binaries": [[kernel, path, bytes of shared memory]]}."""
    capability = capability or torch.cuda.get_device_capability(device)
    known = _properties(properties, capability)
    offline, compiled, launches, skipped = _OfflineDriver(device, capability, known), {}, [], []
    try:
        with _nothing_launched(offline, compiled, launches, known), _FakeTensorMode(allow_non_fake_inputs=True):
            function, _, _ = Binder(candidate).bind(inputs, lambda description: _fake(description, device), device)
            function()
    except _REFUSED as error:
        raise failure(error, candidate, "cpu") from None
    except BaseException as error:  # what fake tensors cannot do is no fault: the real call will tell
        skipped.append(f"the call does not run on tensors without memory ({describe(error)})")
    if call["grads"]:
        skipped.append("kernels of the backward pass are compiled when they are first launched")
    kernels = list(compiled.values())
    seen = launches and None not in launches and not skipped
    program = identity.digest([offline.get_current_target().arch, _host(candidate), launches]) if seen else None
    skipped += _build_launchers(kernels)
    return {
        "kernels": [_facts(kernel) for kernel in kernels],
        "skipped": "; ".join(skipped)[:2000] or None,
        "identity": program,
        "binaries": [[kernel.name, _binary(kernel), kernel.metadata.shared] for kernel in kernels],
    }


def _properties(properties, capability):
    """What torch says of the device, without asking it: many a kernel makes a program for each multiprocessor."""
    if properties is None:
        return None
    major, minor = capability
    return types.SimpleNamespace(**{**properties, "major": major, "minor": minor})


def _host(candidate):
    with open(candidate.path, encoding="utf-8") as file:
        return identity.host_source(file.read())


def _fake(description, device):
    dtype = codec.dtype_of(description["dtype"])
    shape, stride = description["shape"], description["stride"]
    start = description["offset"] // dtype.itemsize
    size = start + codec.extent_bytes(shape, stride, 1)
    tensor = torch.empty(size, dtype=dtype, device=device).as_strided(shape, stride, start)
    return tensor.requires_grad_() if description["grad"] else tensor


@contextlib.contextmanager
def _nothing_launched(offline, compiled, launches, properties):
    """While it is entered, a launch compiles only; `compiled` gets each kernel by its hash, `launches` what
    tells each launch from others, or None."""

    def compile_only(function, *args, grid, warmup, **kwargs):
        kernel = _compile_or_launch(function, *args, grid=grid, warmup=True, **kwargs)
        if kernel is not None:
            compiled.setdefault(kernel.hash, kernel)
            launches.append(describe_launch(function, kernel, grid, args, kwargs))
        return kernel

    def describe_launch(function, kernel, grid, args, kwargs):
        try:
            binder = function.device_caches[index][-1]
            return identity.launch(function, kernel, binder, grid, args, kwargs)
        except Exception:  # the real launch will tell what is wrong, if anything is
            return None

    def make_ptx(backend, source, metadata, *args):
        # Such a kernel cannot be launched, and ptxas can take minutes over it.
        if metadata["shared"] > offline.shared_bytes():
            raise OutOfResources(metadata["shared"], offline.shared_bytes(), "shared memory")
        return _make_ptx(backend, source, metadata, *args)

    index = offline.get_current_device()
    changes = [
        (JITFunction, "run", compile_only),
        (CUDABackend, "make_ptx", make_ptx),
        (Autotuner, "run", _all_configurations),
        (_FakeTensor, "data_ptr", _fake_address),
        (fake_tensor, "init_gpu_context", lambda _device: None),  # would make a context
        (torch.cuda, "synchronize", lambda *_: None),
        # The rest of what a guard around a launch does (`with torch.cuda.device(x.device)`).
        (torch.cuda, "current_device", lambda: index),
        (torch.cuda, "set_device", lambda _device: None),
        (torch.cuda, "_exchange_device", lambda _device: index),
        (torch.cuda, "_maybe_exchange_device", lambda _device: index),
    ]
    if properties is not None:
        changes += [
            (torch.cuda, "get_device_properties", lambda device=None: properties),
            # What that asks, where a candidate has imported it by a name of its own.
            (torch.cuda, "_lazy_init", lambda: None),
            (torch.cuda, "device_count", lambda: index + 1),
            (torch.cuda, "_get_device_properties", lambda _index: properties),
        ]
    before = active_driver._active
    active_driver.set_active(offline)
    try:
        with contextlib.ExitStack() as stack:
            for owner, name, value in changes:
                stack.enter_context(_changed(owner, name, value))
            yield
    finally:
        active_driver._active = before


@contextlib.contextmanager
def _changed(owner, name, value):
    own = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)  # it was inherited
        else:
            setattr(owner, name, own)


def _fake_address(tensor):
    return _FAKE_ADDRESS + tensor.storage_offset() * tensor.element_size()


def _all_configurations(autotuner, *args, **kwargs):
    """Compiles what tuning will try; fails only if no configuration does."""
    autotuner.nargs = dict(zip(autotuner.arg_names, args))
    unfit, kernel = None, None
    for config in autotuner.prune_configs(kwargs):
        if config.pre_hook is not None:
            config.pre_hook({**autotuner.nargs, **kwargs, **config.all_kwargs()})
        try:
            kernel = autotuner.fn.run(*args, **kwargs, **config.all_kwargs()) or kernel
        except _UNFIT as error:
            unfit = error
    autotuner.nargs = None
    if kernel is None and unfit is not None:
        raise unfit
    return kernel


def _build_launchers(kernels):
    """Runs the C compiler for the launcher of each signature; returns why where that fails."""
    for kernel in kernels:
        try:
            nvidia.CudaLauncher(kernel.src, kernel.metadata)
        except Exception as error:  # the same befalls the first launch, which is asked next
            return [f"the launcher was not built ({describe(error)})"]
    return []


def _binary(kernel):
    (path,) = [path for name, path in kernel.metadata_group.items() if name.endswith(".cubin")]
    return path


def _facts(kernel):
    usage = _resource_usage(_binary(kernel)).get(kernel.name, {})
    return {
        "kernel": kernel.name,
        "registers": usage.get("REG", 0),
        # As Triton counts them: words of local memory, the stack frame included.
        "spills": (usage.get("STACK", 0) + usage.get("LOCAL", 0)) // 4,
        "shared_bytes": kernel.metadata.shared,
    }


def _resource_usage(path):
    """{function: {"REG": 32, "STACK": 0, …}} as cuobjdump reads it from a binary."""
    listed = subprocess.run(
        [_CUOBJDUMP, "--dump-resource-usage", path], capture_output=True, text=True, check=True
    ).stdout
    usage = {}
    for name, numbers in re.findall(r"Function (\S+):\s*\n\s*(.+)", listed):
        usage[name] = {key: int(value) for key, value in re.findall(r"([A-Z]+)(?:\[\d+\])?:(\d+)", numbers)}
    return usage
