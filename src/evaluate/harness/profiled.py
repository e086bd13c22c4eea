"""A candidate's process under Nsight Compute: one call of it is profiled, then the process ends.

    ncu … python -I profiled.py SOCKET SETTINGS

Not a fork of the zygote: the profiler must be in a process from its start. It connects to SOCKET, a path,
and restricts itself as a fork does before it reads its first request (PROTOCOL.md, "Profiled child"). What the
profiler has started by then, its own threads and connections, is not restricted.

SETTINGS is a JSON file: `child` as in the zygote's `hello`, `device`, `scratch`, `tools` (a folder in which what
every profiled process compiles for itself is kept), and `device_first`: open the GPU before the restriction.
"""

import json
import os
import pathlib
import socket
import sys
import types

# One package whatever the folder is called, and without the folder on sys.path.
_package = types.ModuleType("kernelbrain_harness")
_package.__path__ = [str(pathlib.Path(__file__).resolve().parent)]
sys.modules["kernelbrain_harness"] = _package
sys.dont_write_bytecode = True

_WORST_OOM_SCORE = 1000


def _prepare(settings):
    """What asks for programs that a restricted process may not start."""
    from triton.backends.nvidia import driver

    os.environ["TRITON_CACHE_DIR"] = settings["tools"]
    try:
        driver.CudaUtils()
    except Exception as error:  # where it matters the call fails with it again, and says so
        print(f"Triton's driver was not prepared: {error}", file=sys.stderr, flush=True)


def _conversation(path, wire):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)

    class OneProfile(wire.Wire):
        """Ends the conversation once there was something to profile, and so the process in good order:
        the profiler writes what it has seen when it does."""

        over = False

        def receive(self):
            return None if self.over else super().receive()

    return OneProfile(connection.detach())


def main():
    path, settings = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text())
    device, scratch = settings["device"], settings["scratch"]

    import torch

    from kernelbrain_harness import child, confine, forked, profiling, wire

    class Profiled(child.Child):
        def profile(self, request):
            conversation.over = True
            return self._guarded(
                lambda: profiling.profile_call(self._binder, self._device, request["inputs"], request["call"])
            )

    with open("/proc/self/oom_score_adj", "w") as score:
        score.write(str(_WORST_OOM_SCORE))
    if device != "cpu":
        _prepare(settings)
    forked.move_in(scratch)
    forked.reset_seeds()
    if device != "cpu" and settings["device_first"]:
        torch.zeros(1, device=device)
    conversation = _conversation(path, wire)
    try:
        confine.limit(settings["child"], device)
        confine.confine(settings["child"], scratch)
    except (confine.Unconfined, OSError, ValueError) as error:
        print(f"the sandbox could not be entered: {error}", file=sys.stderr, flush=True)
        sys.exit(forked.UNCONFINED_STATUS)
    wire.end_with_peer(conversation)
    candidate = Profiled(conversation)
    wire.serve(conversation, {"load": candidate.load, "profile": candidate.profile})


if __name__ == "__main__":
    main()
