"""A candidate's process: what it answers (PROTOCOL.md). By now it is confined."""
import os

import torch
from triton import knobs

from . import compiling, identity
from .apart import run_apart
from .binding import Binder
from .blame import failure, line_of
from .bursts import BurstCaller
from .launches import take_first_configurations
from .loading import load
from .tuning import tune_briefly
from .wire import Failure
from .wire import serve as serve_wire
from .witness import Witness, hide


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
        hide()
        try:
            self._candidate = load(request)
        except Failure as refusal:
            raise _sendable(refusal) from None
        except BaseException as error:  # reading what was raised raises
            raise _unreadable("import", error, request["path"]) from None
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

    def backward(self, request):
        return self._guarded(lambda: self._caller.backward(request["call"], request["timing"]))

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
        except Failure as refusal:
            raise _sendable(refusal) from None
        except BaseException as error:
            raise self._blamed(error) from None

    def _blamed(self, error):
        try:
            return _sendable(failure(error, self._candidate, self._device))
        except BaseException:
            return _unreadable("call", error, self._candidate.path)


def _unreadable(kind, error, path):
    """The Failure for an exception that raises another one when it is asked for its text."""
    try:
        line = line_of(error, path)
    except BaseException:
        line = None
    message = f"{_name(type(error))}, whose text cannot be read: its __str__ fails"
    return _sendable(Failure(kind, message, line=line))


_name = type.__dict__["__name__"].__get__


def _sendable(value):
    """The same without halves of characters, which a Python string may have and UTF-8 has not."""
    if isinstance(value, Failure):
        value.message = _sendable(value.message)
    elif isinstance(value, str):
        return str.encode(value, errors="backslashreplace").decode()
    elif isinstance(value, list):
        return [_sendable(item) for item in value]
    elif isinstance(value, dict):
        return {_sendable(name): _sendable(item) for name, item in value.items()}
    return value


def serve(wire):
    """Answers requests until the parent closes the connection."""
    torch.set_grad_enabled(True)
    child = Child(wire)
    operations = (
        "load", "compile", "attach", "prepare", "run", "observe", "ready", "time", "pace", "backward", "deliver", "rest",
    )
    serve_wire(wire, {name: _answering(getattr(child, name)) for name in operations})


def _answering(operation):
    return lambda request: _sendable(operation(request))
