"""The parent's side of a zygote and its children, for tests: real processes over real sockets."""
import json
import os
import pathlib
import platform
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import textwrap

HARNESS = pathlib.Path(__file__).parents[2] / "src" / "evaluate" / "harness"
sys.path.insert(0, str(HARNESS))

import buffers  # noqa: E402
import codec  # noqa: E402

SECONDS = 60  # how long an answer may take before a test fails
MEMORY_BYTES, FILE_BYTES, OPEN_FILES = 1 << 30, 64 << 20, 256
NATIVE = {"kind": "native", "mutates": [], "grads": []}


class Refused(Exception):
    """An error answer."""

    def __init__(self, error):
        super().__init__(f"{error['kind']}: {error['message']}")
        self.kind, self.message, self.line = error["kind"], error["message"], error.get("line")


class Gone(Exception):
    """The other side closed the connection."""


class Line:
    """A connection of newline-delimited JSON."""

    def __init__(self):
        self._socket, self.other = socket.socketpair()
        self._socket.settimeout(SECONDS)
        self._rest, self._number, self.exited = b"", 0, {}

    def post(self, op, descriptors=(), **fields):
        self._number += 1
        line = json.dumps({"id": self._number, "op": op, **fields}).encode() + b"\n"
        sent = socket.send_fds(self._socket, [line], list(descriptors)) if descriptors else 0
        self._socket.sendall(line[sent:])

    def next(self):
        while b"\n" not in self._rest:
            try:
                data = self._socket.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                raise Gone
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        message = json.loads(line)
        if "exited" in message:
            self.exited[message["exited"]["pid"]] = message["exited"]
        return message

    def ask(self, op, descriptors=(), **fields):
        self.post(op, descriptors, **fields)
        while (answer := self.next()).get("id") != self._number:
            pass
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["ok"]

    def close(self):
        self._socket.close()


def confinement(shared, readable=()):
    """What a candidate gets; the compiler's tools are asked for as the parent does it."""
    packages = sysconfig.get_paths()["purelib"]
    gcc = os.path.realpath(shutil.which("gcc"))
    steps = [
        subprocess.run([gcc, f"-print-prog-name={step}"], capture_output=True, text=True).stdout.strip()
        for step in ("cc1", "collect2", "as", "ld")
    ]
    tools = [gcc, *filter(None, map(shutil.which, steps))]
    tools += ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/sbin/ldconfig"]
    devices = ["/dev/null", "/dev/zero", "/dev/urandom"]
    system = ["/usr/lib", "/lib", "/lib64", "/usr/include", "/usr/local/lib", "/etc/ld.so.cache", "/proc", "/sys"]
    seccomp = pathlib.Path(__file__).with_name(f"seccomp-{platform.machine()}.hex").read_text().strip()
    return {
        "read": [sys.prefix, sys.base_prefix, *system, *tools, *devices, str(shared), *readable],
        "write": [*devices, "/proc/self"],
        "map": [str(shared)],
        "execute": [*tools, os.path.join(packages, "triton/backends/nvidia/bin")],
        "seccomp": seccomp,
        "memory_bytes": MEMORY_BYTES,
        "file_bytes": FILE_BYTES,
        "open_files": OPEN_FILES,
        "best_effort": False,
    }


class Host:
    """A zygote with its folders. Children may also read `readable`; `environment` is added to the clean
    one that it starts with."""

    def __init__(self, device="cpu", capability=None, readable=(), **environment):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kernelbrain-"))
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.device = device
        self._children = 0
        self.line = Line()
        clean = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        if device == "cpu":
            clean["TRITON_INTERPRET"] = "1"
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(HARNESS / "zygote.py")],
            stdin=self.line.other,
            env={**clean, **environment},
        )
        self.line.other.close()
        fields = {"capability": capability} if capability else {}
        self.hello = self.line.ask("hello", device=device, child=confinement(self.shared, readable), **fields)

    def fork(self):
        self._children += 1
        scratch = self.folder / f"child-{self._children}"
        scratch.mkdir()
        line = Line()
        pid = self.line.ask("fork", [line.other.fileno()], scratch=str(scratch))["pid"]
        line.other.close()
        return ChildLine(self, pid, line, scratch)

    def candidate(self, source, **load):
        """A child that has loaded `source`."""
        child = self.fork()
        child.load(source, **load)
        return child

    def await_exit(self, pid):
        while pid not in self.line.exited:
            self.line.next()
        return self.line.exited.pop(pid)

    def close(self):
        self.line.close()
        self.process.wait(SECONDS)
        shutil.rmtree(self.folder)


class ChildLine:
    """A child from the parent's side."""

    def __init__(self, host, pid, line, scratch):
        self.host, self.pid, self.line, self.scratch = host, pid, line, scratch
        self.ask = line.ask

    def load(self, source, **fields):
        path = self.scratch / "candidate.py"
        path.write_text(textwrap.dedent(source))
        request = {"module": None, "sys_path": [], "origin": None, "entry_module": None, "entries": ["kernel_function"], "tuning": "brief"}
        return self.ask("load", device=self.host.device, path=str(path), **{**request, **fields})

    def close(self):
        """Ends the child; returns how it ended."""
        self.line.close()
        return self.host.await_exit(self.pid)

    def end(self):
        """Waits for the child to end by itself; returns how it did."""
        ended = self.host.await_exit(self.pid)
        self.line.close()
        return ended


class Case:
    """Inputs in shared files, and where outputs are to land, as a referee prepares them."""

    def __init__(self, host, arguments, outputs, parameters=None, init=(), mutated=(), cotangents=(), gradients=()):
        self._exporter = buffers.FileExporter(tempfile.mkdtemp(dir=host.shared))
        self._buffers = []
        self.outputs = [self._landing(output) for output in outputs]
        self.mutated = [self._landing(tensor) for tensor in mutated]
        self.gradients = [self._landing(tensor) for tensor in gradients]
        self.arguments = [codec.encode_argument(argument, self.place) for argument in arguments]
        self.parameters = {n: codec.encode_argument(v, self.place) for n, v in (parameters or {}).items()}
        self.init = [codec.encode_argument(argument, self.place) for argument in init]
        self.cotangents = [self.place(tensor) for tensor in cotangents]

    def place(self, tensor):
        """A description of a copy of `tensor` in a buffer of its own."""
        buffer = self._exporter.allocate(tensor.numel() * tensor.element_size())
        number = len(self._buffers)
        self._buffers.append(buffer)
        stride = codec.contiguous_stride(tensor.shape)
        description = codec.describe_tensor(number, tensor.dtype, tensor.shape, stride, grad=tensor.requires_grad)
        codec.view(buffer.memory, description).copy_(tensor.detach())
        return description

    def _landing(self, like):
        return self.place(like.new_full(like.shape, float("nan")) if like.is_floating_point() else like * 0 - 1)

    def read(self, description):
        return codec.view(self._buffers[description["buffer"]].memory, description)

    def request(self):
        return {
            "case": 0,
            "seed": 17,
            "buffers": [buffer.describe(number) for number, buffer in enumerate(self._buffers)],
            "arguments": self.arguments,
            "parameters": self.parameters,
            "init": self.init,
            "init_seed": 0,
            "outputs": self.outputs,
            "mutated": self.mutated,
            "cotangents": self.cotangents,
            "gradients": self.gradients,
        }

    def run(self, child, **call):
        return child.ask("run", inputs=self.request(), call={**NATIVE, **call})

    def time(self, child, warmup=1, repeat=3, others=(), **call):
        """A burst on this case and `others` in turn, and what one of the calls that were kept returned."""
        cases, call = [self, *others], {**NATIVE, **call}
        sets = [case.request() for case in cases]
        timing = {"warmup": 0, "repeat": repeat, "keep": 2, "enough_us": 60e6, "flush_bytes": 0, "wait_us": 0}
        warm = child.ask("ready", sets=sets, call=call, timing={**timing, "warmup": warmup})
        child.ask("ready", sets=sets, call=call, timing=timing)
        timed = child.ask("time", call=call, timing=timing)
        if call["grads"]:
            timed["backward_us"] = child.ask("backward", call=call, timing=timing)["device_us"]
        kept = timed["kept"][-1]
        case = cases[kept["set"]]
        delivered = child.ask("deliver", number=kept["call"], inputs=case.request(), call=call)
        return {**timed, **delivered, "warm_us": warm["host_us"], "case": case}
