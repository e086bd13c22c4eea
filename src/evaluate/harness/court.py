"""The operations of the referee."""

import collections
import itertools
import os
import platform
import re
import sys
import time

import numpy
import torch
import triton

from . import agreement, buffers, fingerprint, fused, probes
from .answers import Contents
from .audit import audit
from .compare import judge
from .contracts import open_contract
from .contracts.sizes import unlisted
from .contracts.source import is_out_of_memory
from .dependence import measure_dependence
from .nest import copy_with_layout, map_tensors
from .stage import Stage
from .timing import time_call
from .wire import Failure, Wire, end_with_peer, serve
from .work import count_work


# Sets of inputs that a case may have at a time, and the share of the free memory that they may take together.
_MOST_SETS = {"cpu": 2, "cuda": 8}
_SHARE_OF_SETS = 8
# Contents kept beside each other, however small.
_MOST_CONTENTS = 64


class Referee:
    """One contract on one device."""

    def __init__(self):
        self._contract = None
        self._stages = {}  # by case
        self._contents = collections.OrderedDict()  # by (case, seed, probe), the latest used last
        self._unlisted = []  # cases that the contract does not list, numbered after those that it does
        self._path = list(sys.path)
        self._memory = self._room = 0  # bytes that contents may take, and the sets of one case
        self._passing = []  # (case, seed) of contents that no other request will ask for
        self._origins = {}  # (case, seed): the seed of what a Model holds, where it is another

    def operations(self):
        named = {
            "open": self.open,
            "inputs": self.inputs,
            "sets": self.sets,
            "landing": self.landing,
            "compare": self.compare,
            "probes": self.probes,
            "sizes": self.sizes,
            "time": self.time,
            "audit": self.audit,
            "checksum": self.checksum,
            "memory": self.memory,
            "work": self.work,
            "dependence": self.dependence,
            "release": self.release,
        }
        return {name: self._mindful(operation) for name, operation in named.items()}

    def _mindful(self, operation):
        """Says what to do when memory runs out, and gives back what the referee holds."""

        def run(request):
            try:
                return operation(request)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                text = str(error)
            self._forget_all()
            raise Failure("out_of_memory", self._lack_of_memory(request, text))

        return run

    # ------------------------------------------------------------------------------------- operations
    def open(self, request):
        self._forget_all()
        device = _check_device(request["device"])
        self._forget_modules()
        sys.path[:0] = [path for path in request.get("sys_path", []) if path not in sys.path]
        self._contract = open_contract(request["test"], device)
        self._unlisted = unlisted(self._contract)
        self._exporter = buffers.exporter(device, request["shared"])
        self._numbers = itertools.count()
        if self._contract.device.type == "cuda":
            device = torch.device("cuda", self._contract.device.index or 0)
            fused.enable(device, agreement.agrees_in_one_pass, fingerprint.agrees_in_one_pass)
        free = _free_bytes(self._contract.device)
        self._memory, self._room = free // 4, free // _SHARE_OF_SETS
        facts = {
            "contract": self._contract.describe(),
            "device_name": _device_name(self._contract.device),
            "torch": torch.__version__,
            "triton": triton.__version__,
            "numpy": numpy.__version__,
            "python": platform.python_version(),
        }
        if self._contract.device.type == "cpu":
            return facts
        properties = torch.cuda.get_device_properties(self._contract.device)
        facts["l2_bytes"] = getattr(properties, "L2_cache_size", None)
        facts["properties"] = _plain(properties)
        driver = _read("/sys/module/nvidia/version").strip()
        return {**facts, "driver": driver} if driver else facts

    def inputs(self, request):
        contents = self._contents_for(request)
        stage = self._stage(request)
        encoded = stage.fill(self._contract, contents, request["case"])
        stage.probe = request.get("probe")
        self._save_memory(contents)
        return encoded

    def sets(self, request):
        """Inputs at several addresses at once, of the layout that `like` has: what was compiled for it serves
        them all. Values of `like` itself where no seed has its layout."""
        at, deadline = request["case"], time.monotonic() + request["patience_ms"] / 1e3
        wanted = [(at, seed) for seed in request["seeds"]]
        self._forget_passing(wanted)
        like = self._contents_for({"case": at, "seed": request["like"]})
        most = min(_MOST_SETS[self._contract.device.type], max(1, self._room // max(1, like.input_bytes)))
        found = []
        for key in wanted[:most]:
            if found and time.monotonic() > deadline and (*key, None) not in self._contents:
                break
            contents = self._contents_for({"case": at, "seed": key[1]}, like)
            if contents.layout == like.layout:
                found.append(contents)
        if request.get("passing"):
            self._passing = [key for key in wanted if key[1] != request["like"]]
        filled = self._stage(request).fill_sets(self._contract, found or [like], at)
        for contents in found:
            self._save_memory(contents)
        return {"sets": filled}

    def landing(self, request):
        self._stage(request).probe = None
        landed = self._stage(request).land(self._contract, self._contents_for(request))
        return landed or self._not_out(request)

    def compare(self, request):
        stage = self._stage(request)
        if (stage.seed, stage.probe) != (request["seed"], request.get("probe")):
            self._not_out(request)
        contents = self._contents_for(request)
        verdict = judge(self._contract, contents, stage, request["returned"], request.get("gradients"))
        return stage.delivered.consider(verdict, stage.outputs, contents.answer.outputs, contents.differs_in_one_element)

    def probes(self, request):
        """What else the candidate must be right for, on a case with a seed."""
        found, notes = probes.applicable(self._opened(), self._contents_for(request))
        return {"probes": [probe.describe() for probe in found], "notes": notes}

    def sizes(self, _request):
        """Cases that the contract does not list; their numbers are good for `inputs` and `compare`."""
        listed = len(self._opened().cases)
        return {
            "cases": [
                {"case": listed + at, "name": size.case.name, "binding": size.binding}
                for at, size in enumerate(self._unlisted)
            ]
        }

    def time(self, request):
        """Eager or compiled PyTorch on the case's inputs; the first call, which may compile, is not timed."""
        contract, timing = self._opened(), request["timing"]
        problem = self._contents_for(request).problem
        function = contract.timed(problem)
        if request["what"] == "compile":
            torch._dynamo.config.recompile_limit = max(64, 2 * len(contract.cases))
            function = torch.compile(function, dynamic=False)  # every case gets code for its own sizes
        # What the reference may write to is its own.
        own = range(len(problem.arguments)) if contract.destinations_allowed else contract.mutates
        arguments = list(problem.arguments)
        for at in own:
            arguments[at] = map_tensors(arguments[at], copy_with_layout)
        with torch.no_grad():
            try:
                function(*arguments)
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                what = "torch.compile of the reference" if request["what"] == "compile" else "the reference"
                raise Failure("internal", f"{what} fails: {type(error).__name__}: {error}") from None
            return time_call(
                lambda: function(*arguments),
                contract.device,
                timing["warmup"],
                timing["repeat"],
                timing["flush_bytes"],
                timing.get("enough_us"),
            )

    def checksum(self, request):
        """Of what lies in the buffers for answers, so that two calls can be held against each other."""
        stage = self._stages.get(request["case"])
        if stage is None:
            raise Failure("internal", f"the inputs of case {request['case']} are not out")
        answers = stage.outputs + stage.mutated + stage.gradients
        return {"checksum": f"{hash(tuple(map(fingerprint.fingerprint_tensor, answers))):x}"}

    def memory(self, _request):
        """What everybody on the device leaves free; None on the cpu, where that says nothing."""
        device = self._opened().device
        if device.type != "cuda":
            return {"free_bytes": None}
        torch.cuda.empty_cache()
        return {"free_bytes": _free_bytes(device)}

    def audit(self, request):
        return {"mutants": audit(self._opened(), self._contents_for(request))}

    def work(self, request):
        return count_work(self._opened(), self._contents_for(request))

    def dependence(self, request):
        return measure_dependence(self._opened(), self._contents_for(request))

    def _stage(self, request):
        if request["case"] not in self._stages:
            self._stages[request["case"]] = Stage(self._exporter, self._numbers)
        return self._stages[request["case"]]

    @staticmethod
    def _not_out(request):
        raise Failure("internal", f"the inputs of case {request['case']} with seed {request['seed']} are not out")

    def release(self, request):
        stage = self._stages.pop(request["case"], None)
        if stage is not None:
            stage.close()
        for key in [key for key in self._contents if key[0] == request["case"]]:
            del self._contents[key]
        return {}

    # ------------------------------------------------------------------------------------------ memory
    def _opened(self):
        if self._contract is None:
            raise Failure("internal", "no contract is open")
        return self._contract

    def _contents_for(self, request, like=None):
        """Made at first use, then kept as long as memory allows; the one in use is always kept. `like` is what it
        is a variation of."""
        contract = self._opened()
        key = at, seed, probe = request["case"], request["seed"], request.get("probe")
        contents = self._contents.pop(key, None)
        if like is not None and like.seed != seed and contract.holds_state:
            self._origins[at, seed] = like.seed
            if contents is not None and contents.like is not like:
                contents = None
        if contents is None:
            contents = self._make_contents(contract, at, seed, probe)
        self._contents[key] = contents
        while len(self._contents) > 1 and self._holds_too_much():
            self._contents.popitem(last=False)
        return contents

    def _make_contents(self, contract, at, seed, probe):
        if probe is None:
            return Contents(contract, self._case(at), seed, self._origin(at, seed))
        base = self._contents_for({"case": at, "seed": seed})
        for known in probes.applicable(contract, base)[0]:
            if known.name == probe:
                return probes.contents_of(contract, base, known)
        raise Failure("internal", f"no probe {probe!r} of case {at}")

    def _case(self, at):
        cases = [*self._opened().cases, *(size.case for size in self._unlisted)]
        if not 0 <= at < len(cases):
            raise Failure("internal", f"no case {at}: the contract has {len(cases) - len(self._unlisted)}")
        return cases[at]

    def _origin(self, at, seed):
        """The contents that those of a seed are a variation of, or None."""
        origin = self._origins.get((at, seed))
        return None if origin is None else self._contents_for({"case": at, "seed": origin})

    def _holds_too_much(self):
        held = self._contents.values()
        return len(held) > _MOST_CONTENTS or sum(contents.size() for contents in held) > self._memory

    def _save_memory(self, contents):
        if contents.size() > self._memory:
            contents.give_up_inputs()

    def _forget_passing(self, wanted):
        for key in self._passing:
            if key not in wanted:
                self._contents.pop((*key, None), None)
                self._origins.pop(key, None)
        self._passing = []

    def _forget_all(self):
        for stage in self._stages.values():
            stage.close()
        self._stages.clear()
        self._contents.clear()
        self._origins.clear()
        self._passing = []
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()

    def _forget_modules(self):
        """What an earlier contract imported from its own folder, and the paths that it added."""
        own = set(sys.path) - set(self._path)
        sys.path[:] = self._path
        for name, module in list(sys.modules.items()):
            if os.path.dirname(getattr(module, "__file__", None) or "") in own:
                del sys.modules[name]

    def _lack_of_memory(self, request, text):
        contract = self._contract
        if contract is None:
            return text
        case = self._case(request["case"]).name if "case" in request else "the contract"
        sizes = re.search(r"([\d.]+ [KMGT]iB)|(\d+) bytes", text)
        wanted = sizes.group(0) if sizes else "more memory"
        free = _free_bytes(contract.device)
        return (
            f"case {case} does not fit {contract.device}: it asked for {wanted} at once, and {free} bytes "
            f"({free / 2**30:.1f} GiB) are free with everything given back. Inputs and answers are held twice, as "
            "private and as shared copies: make the case smaller, or free the device of other processes"
        )


def _check_device(name):
    try:
        device = torch.device(name)
    except RuntimeError:
        raise Failure("device", f"{name!r} is no device: use cpu or cuda:0") from None
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise Failure("device", f"{name} is not supported: use cpu or cuda:0")
    if not torch.backends.cuda.is_built():
        raise Failure("device", f"torch {torch.__version__} is built without CUDA: install a CUDA build, or use cpu")
    if not torch.cuda.is_available():
        raise Failure("device", "torch finds no usable CUDA device: check `nvidia-smi` and the driver, or use cpu")
    index = device.index or 0
    if index >= torch.cuda.device_count():
        raise Failure("device", f"there is no cuda:{index}: torch sees {torch.cuda.device_count()} CUDA device(s)")
    return torch.device("cuda", index)


def _free_bytes(device):
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    available = re.search(r"MemAvailable:\s+(\d+) kB", _read("/proc/meminfo"))
    return int(available.group(1)) * 1024 if available else 1 << 30


def _plain(properties):
    """The numbers and words among a device's properties, by name."""
    values = {name: getattr(properties, name) for name in dir(properties) if not name.startswith("_")}
    return {name: value for name, value in values.items() if isinstance(value, (bool, int, str))}


def _device_name(device):
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    model = re.search(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo"))
    return model.group(1) if model else platform.machine()


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def main():
    wire = Wire.take_stdin()
    end_with_peer(wire)
    serve(wire, Referee().operations())
    os._exit(0)  # without waiting for threads that the contract may have left behind
