"""The process that candidates are forked from: torch and triton imported, no CUDA context.

    python -I zygote.py        with the parent's socket as file descriptor 0 (PROTOCOL.md)

It runs no candidate's code and has one thread only: what another thread holds at the moment of a
fork stays locked in the child for ever.
"""
import ctypes
import gc
import importlib.machinery
import importlib.util
import os
import select
import signal
import sys
import traceback

# Before triton is imported. Line numbers would make equal kernels differ.
os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")

_PACKAGE = "kernelbrain_harness"
_PR_SET_CHILD_SUBREAPER = 36


def harness(name):
    """A module of this folder, as a part of a package so that none is in the way of a candidate's imports."""
    if _PACKAGE not in sys.modules:
        spec = importlib.machinery.ModuleSpec(_PACKAGE, None, is_package=True)
        spec.submodule_search_locations = [os.path.dirname(os.path.abspath(__file__))]
        sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"{_PACKAGE}.{name}")


wire = harness("wire")
confine = harness("confine")
processes = harness("processes")


class Zygote(wire.Wire):
    """The parent's connection, which sees to children that ended while it waits for a request."""

    def __init__(self, fd, start):
        super().__init__(fd)
        self._start = start  # becomes a child, in the forked process; never returns
        self._children = set()
        self._settings = self._device = None
        self._wakeup, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def receive(self):
        poll = select.poll()
        poll.register(self._wakeup, select.POLLIN)
        poll.register(self.fileno(), select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll()]
            if self._wakeup in ready:
                os.read(self._wakeup, 1 << 12)
                self._see_to_children()
            if self.fileno() in ready:
                return super().receive()

    def _see_to_children(self):
        ended = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid in self._children:
                self._children.remove(pid)
                ended.append((pid, os.waitstatus_to_exitcode(status)))
        if ended:
            processes.end_strays(self._children)
        for pid, code in ended:
            by_signal = code < 0
            exited = {"pid": pid, "code": None if by_signal else code, "signal": -code if by_signal else None}
            self.send({"exited": exited})

    def hello(self, request):
        import numpy
        import torch
        import triton

        settings = request["child"]
        try:
            missing = confine.require(settings)
        except confine.Unconfined as error:
            raise wire.Failure("sandbox", str(error)) from None
        self._settings, self._device = settings, request["device"]
        if self._device != "cpu" and request.get("capability"):
            harness("compiling").prepare(request["capability"])
        if torch.cuda.is_initialized():
            raise wire.Failure("internal", "a CUDA context exists before the first fork: no child could use the GPU")
        gc.collect()
        gc.freeze()  # what is here now is never collected, so that its pages stay shared
        return {
            "python": sys.version.split()[0],
            "torch": torch.__version__,
            "triton": triton.__version__,
            "numpy": numpy.__version__,
            "landlock": confine.landlock_abi(),
            "missing": missing,
        }

    def fork(self, request):
        if self._settings is None:
            raise wire.Failure("internal", "fork came before hello")
        if not self.descriptors:
            raise wire.Failure("internal", "fork came without the descriptor of the child's socket")
        channel = self.descriptors.pop(0)
        pid = os.fork()
        if pid == 0:
            try:
                self._start(channel, request["scratch"], self._settings, self._device)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(channel)
        self._children.add(pid)
        return {"pid": pid}


def main():
    # Everything that a child needs is imported here, once. All of it stays: looking through it for garbage over and
    # over takes time for nothing.
    gc.disable()
    import torch._subclasses.fake_tensor  # noqa: F401
    import triton  # noqa: F401

    forked = harness("forked")
    gc.enable()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    fd = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    zygote = Zygote(fd, forked.become_child)
    me = os.getpid()
    try:
        wire.serve(zygote, {"hello": zygote.hello, "fork": zygote.fork})
    except OSError:
        pass  # the parent is gone
    finally:
        if os.getpid() == me:
            processes.end_strays(known=())


if __name__ == "__main__":
    main()
