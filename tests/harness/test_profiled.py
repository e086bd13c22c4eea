"""The process that a profiler looks into: it answers as a child does, calls twice, and ends by itself."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch

from zygote_host import HARNESS, NATIVE, SECONDS, Case, ChildLine, Line, Refused, confinement

DOUBLED = """
    import os
    import torch, triton
    import triton.language as tl

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)

    def kernel_function(x):
        y = torch.empty_like(x)
        double[(1,)](x, y, x.numel(), BLOCK=16)
        with open("calls", "a") as calls:
            print(x.sum().item(), y.sum().item(), file=calls)
        x.zero_()
        return y
"""


class Profiled:
    """Started as the profiler starts it, without the profiler. Looks like a zygote's host to `Case`."""

    device = "cpu"

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kernelbrain-"))
        self.shared, scratch = self.folder / "shared", self.folder / "scratch"
        for folder in (self.shared, scratch, self.folder / "tools"):
            folder.mkdir()
        settings = {
            "child": confinement(self.shared), "device": "cpu", "scratch": str(scratch),
            "tools": str(self.folder / "tools"), "device_first": False,
        }
        (self.folder / "settings.json").write_text(json.dumps(settings))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.folder / "socket"))
        listener.listen()
        listener.settimeout(SECONDS)
        self.process = subprocess.Popen(
            [sys.executable, "-I", HARNESS / "profiled.py", self.folder / "socket", self.folder / "settings.json"],
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "TRITON_INTERPRET": "1"},
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        line = Line()
        line.other.close()
        line._socket.close()
        line._socket, _ = listener.accept()
        line._socket.settimeout(SECONDS)
        listener.close()
        self.line, self.scratch = line, scratch
        self.child = ChildLine(self, self.process.pid, line, scratch)

    def close(self):
        self.line.close()
        self.process.communicate(timeout=SECONDS)
        shutil.rmtree(self.folder)


class ProfiledCalls(unittest.TestCase):
    def setUp(self):
        self.host = Profiled()
        self.addCleanup(self.host.close)

    def profile(self, case, **call):
        return self.host.line.ask("profile", inputs=case.request(), call={**NATIVE, **call})

    def test_it_calls_twice_on_copies_that_are_as_they_were_and_ends_by_itself(self):
        self.host.child.load(DOUBLED)
        x = torch.arange(16, dtype=torch.float32)
        case = Case(self.host, [x], [x])
        self.assertEqual(self.profile(case, mutates=[0]), {})
        self.assertEqual(self.host.process.wait(SECONDS), 0)
        calls = (self.host.scratch / "calls").read_text().split("\n")
        self.assertEqual(calls, ["120.0 240.0", "120.0 240.0", ""])
        # The referee's own memory was read only.
        self.assertEqual(case.read(case.arguments[0]["tensor"]).sum().item(), 120)

    def test_it_is_confined_like_any_other_child(self):
        outside = self.host.folder / "outside"
        self.host.child.load(f"""
            import socket
            def kernel_function(x):
                try:
                    open({str(outside)!r}, "w")
                except PermissionError:
                    try:
                        socket.socket(socket.AF_INET)
                    except PermissionError:
                        raise RuntimeError("held in")
        """)
        with self.assertRaisesRegex(Refused, "RuntimeError: held in"):
            self.profile(Case(self.host, [torch.zeros(1)], [torch.zeros(1)]))
        self.assertFalse(outside.exists())

    def test_what_the_candidate_raises_is_an_answer(self):
        with self.assertRaisesRegex(Refused, "entry: .* defines no kernel_function"):
            self.host.child.load("x = 1")

    def test_it_ends_with_its_parent(self):
        self.host.child.load(textwrap.dedent("""
            import time
            def kernel_function(x):
                time.sleep(600)
        """))
        request = Case(self.host, [torch.zeros(1)], [torch.zeros(1)]).request()
        self.host.line.post("profile", inputs=request, call=NATIVE)
        self.host.line.close()
        self.assertEqual(self.host.process.wait(SECONDS), 0)


if __name__ == "__main__":
    unittest.main()
