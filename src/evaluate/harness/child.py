"""A candidate's process: what it answers (PROTOCOL.md). By now it is confined."""
import os

import torch
from triton import knobs

from . import compiling, identity
from .apart import run_apart
from .binding import Binder
from .blame import failure
from .bursts import BurstCaller
from .launches import take_first_configurations
from .loading import load
from .tuning import tune_briefly
from .wire import Failure
from .wire import serve as serve_wire
from .witness import Witness


_QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"


class Child:
    """One candidate, from its import to its last call."""

    def __init__(self, wire):
        self._wire = wire
        self._candidate = self._device = self._binder = self._caller = self._witness = None
        self._notes, self._binaries = [], []

    def load(self, request):
        if self._candidate is not None:
            raise Failure("internal", "a child loads one candidate only")
        self._device = request["device"]
        if knobs.runtime.interpret:
            take_first_configurations(self._notes.append)
        elif request.get("tuning") == "brief":
            tune_briefly()
        self._witness = Witness(request["path"])
        self._candidate = load(request)
        self._binder = Binder(self._candidate)
        self._caller = BurstCaller(self._binder, self._device, self._witness)
        seen = self._witness.look()
        return {"entry": self._candidate.name, "kernels": self._candidate.kernels(), "observed": seen}

    def compile(self, request):
        if self._device == "cpu":
            return {"kernels": [], "skipped": "the interpreter compiles nothing", "identity": self._source_identity()}
        capability = request.get("capability")

        def compile_candidate():
            return compiling.compile_offline(
                self._candidate, request["inputs"], request["call"], self._device, capability, request.get("properties")
            )

        # Apart, since the call on fake tensors may leave some in what the candidate keeps for later. The
        # first real call finds the binaries in Triton's folder.
        compiled = self._guarded(lambda: run_apart(lambda: self._guarded(compile_candidate), self._wire))
        self._binaries += [binary for binary in compiled.pop("binaries") if binary not in self._binaries]
        return compiled

    def _source_identity(self):
        with open(self._candidate.path, encoding="utf-8") as file:
            return self._guarded(lambda: identity.source(file.read()))

    def attach(self, request):
        if (queues := request.get("queues")) is not None:
            os.environ[_QUEUES] = str(queues)
        try:
            return self._guarded(lambda: self._caller.attach(request["inputs"]))
        finally:
            os.environ.pop(_QUEUES, None)  # the driver has read it

    def prepare(self, request):
        inputs, plan = request["inputs"], request["timing"]
        return self._guarded(lambda: self._caller.prepare(inputs, self._binaries, plan))

    def run(self, request):
        how = {name: request.get(name, False) for name in ("muted", "late", "watched")}
        answer = self._guarded(lambda: self._caller.run(request["inputs"], request["call"], **how))
        return {**answer, "notes": self._notes}

    def observe(self, request):
        return self._guarded(lambda: self._caller.observe(request["inputs"], request["what"]))

    def ready(self, request):
        return self._guarded(lambda: self._caller.ready(request["sets"], request["call"], request["timing"]))

    def time(self, request):
        return self._guarded(lambda: self._caller.burst(request["call"], request["timing"]))

    def pace(self, request):
        return self._guarded(lambda: self._caller.pace(request["timing"]))

    def deliver(self, request):
        return self._guarded(lambda: self._caller.deliver(request["number"], request["inputs"], request["call"]))

    def rest(self, request):
        return self._guarded(self._caller.rest)

    def _guarded(self, work):
        """What the candidate raises becomes an answer, SystemExit too."""
        if self._candidate is None:
            raise Failure("internal", "no candidate was loaded")
        try:
            return work()
        except Failure:
            raise
        except BaseException as error:
            raise failure(error, self._candidate, self._device) from None


def serve(wire):
    """Answers requests until the parent closes the connection."""
    torch.set_grad_enabled(True)
    child = Child(wire)
    operations = (
        "load", "compile", "attach", "prepare", "run", "observe", "ready", "time", "pace", "deliver", "rest",
    )
    serve_wire(wire, {name: getattr(child, name) for name in operations})
