"""A conversation with the real referee: a process at the other end of a socket, contracts on disk, and
answers written into the buffers that it shares, as a candidate's process would.
"""

import atexit
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest

os.environ["TRITON_INTERPRET"] = "1"
sys.dont_write_bytecode = True
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HARNESS = REPOSITORY / "src" / "evaluate" / "harness"

if "kernelbrain_harness" not in sys.modules:
    _package = types.ModuleType("kernelbrain_harness")
    _package.__path__ = [str(HARNESS)]
    sys.modules["kernelbrain_harness"] = _package

from kernelbrain_harness import buffers, codec  # noqa: E402


class Refused(AssertionError):
    """The referee answered with an error."""

    def __init__(self, error):
        super().__init__(f"{error['kind']}: {error['message']}")
        self.kind, self.message = error["kind"], error["message"]
        self.file, self.line = error.get("file"), error.get("line")


class Referee:
    """`ask` sends a request and returns what is under `ok`."""

    def __init__(self, shared):
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(HARNESS / "referee.py")],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self._socket, self._stream = ours, ours.makefile("r")
        self._shared, self._number = shared, 0

    def send(self, op, **request):
        self._number += 1
        line = json.dumps({"id": self._number, "op": op, **request}) + "\n"
        self._socket.sendall(line.encode())

    def ask(self, op, **request):
        self.send(op, **request)
        line = self._stream.readline()
        if not line:
            raise EOFError(f"the referee ended: {self.process.communicate()}")
        answer = json.loads(line)
        assert answer["id"] == self._number, answer
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["ok"]

    def open(self, test, **more):
        return self.ask("open", **{"test": str(test), "device": "cpu", "shared": self._shared, "sys_path": [], **more})

    def hang_up(self):
        self._stream.close()
        self._socket.close()

    def close(self):
        self.hang_up()
        out, errors = self.process.communicate(timeout=60)
        return out.decode(), errors.decode()


class Call:
    """The inputs of a case as a candidate sees them."""

    def __init__(self, referee, case=0, seed=1, probe=None):
        self.referee, self.case, self.seed, self.probe = referee, case, seed, probe
        self.inputs = referee.ask("inputs", case=case, seed=seed, probe=probe)
        self._memory = {b["buffer"]: buffers.open_buffer(b, "cpu").memory for b in self.inputs["buffers"]}
        self.arguments = [codec.decode_argument(a, self.tensor) for a in self.inputs["arguments"]]
        named = self.inputs["parameters"].items()
        self.parameters = {name: codec.decode_argument(a, self.tensor) for name, a in named}

    def tensor(self, description):
        return codec.view(self._memory[description["buffer"]], description)

    def write(self, group, tensors):
        """Copies to the shared buffers of `outputs`, `mutated` or `gradients`, as the child does."""
        for description, tensor in zip(self.inputs[group], tensors):
            self.tensor(description).copy_(tensor)

    def compare(self, outputs, gradients=None, aliases=None):
        """Returns these tensors from the call and asks for the verdict."""
        outputs = [output.detach() for output in outputs]
        self.write("outputs", [o for o in outputs if o.numel()])
        returned = [describe(output) for output in outputs]
        for at, argument in (aliases or {}).items():
            returned[at]["alias"] = {"argument": argument}
        told = None
        if gradients is not None:
            self.write("gradients", gradients)
            told = [describe(gradient) for gradient in gradients]
        return self.ask_compare(returned, told)

    def ask_compare(self, returned, gradients=None):
        question = {"case": self.case, "seed": self.seed, "probe": self.probe}
        return self.referee.ask("compare", **question, returned=returned, gradients=gradients)


def describe(tensor):
    return {
        "dtype": codec.dtype_name(tensor.dtype),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "device": "cpu",
        "alias": None,
    }


_shared = tempfile.TemporaryDirectory()
_running = []


def running_referee():
    """One referee for all tests: it takes seconds to start, and opens one contract after another."""
    if not _running or _running[-1].process.poll() is not None:
        _running.append(Referee(_shared.name))
    return _running[-1]


@atexit.register
def _close():
    for referee in _running:
        referee.close()
    _shared.cleanup()


class Conversation(unittest.TestCase):
    """Every test has a folder of its own."""

    def setUp(self):
        self.referee = running_referee()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def open(self, text, name="test.py"):
        return self.referee.open(self.write(name, text))["contract"]

    def refuse(self, what, *arguments, **request):
        """The error with which something is refused."""
        with self.assertRaises(Refused) as caught:
            what(*arguments, **request)
        return caught.exception

    def assert_rejected(self, verdict, reason, gate="correctness"):
        self.assertFalse(verdict["pass"], verdict)
        self.assertEqual(verdict["gate"], gate, verdict)
        self.assertRegex(verdict["reason"], reason)

    def assert_passed(self, verdict, tier):
        self.assertTrue(verdict["pass"], verdict)
        self.assertEqual(verdict["tier"], tier, verdict)
