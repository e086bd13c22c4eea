"""From a fork of the zygote to a child that serves its socket: the way is the same for every child."""
import ctypes
import os
import random
import signal
import sys
import tempfile

import numpy
import torch

from . import child, confine
from .wire import Wire, end_with_peer

# The child's exit status when it could not restrict itself; why is in its `stderr` file.
UNCONFINED_STATUS = 125
_PR_SET_PDEATHSIG = 1
_WORST_OOM_SCORE = 1000


def become_child(channel, scratch, settings, device):
    """Turns this fresh fork into a child and ends with it. `channel` is its socket, `scratch` its folder."""
    zygote = os.getppid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != zygote:
        os._exit(1)  # it ended before that took effect
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write(str(_WORST_OOM_SCORE))
    _keep_only(channel, scratch)
    move_in(scratch)
    reset_seeds()
    wire = Wire.take_stdin()
    try:
        confine.limit(settings, device)
        confine.confine(settings, scratch)
    except (confine.Unconfined, OSError, ValueError) as error:
        print(f"the sandbox could not be entered: {error}", file=sys.stderr, flush=True)
        os._exit(UNCONFINED_STATUS)
    end_with_peer(wire)
    child.serve(wire)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _keep_only(channel, scratch):
    """The socket as descriptor 0, two files of the scratch folder as 1 and 2, and no other."""
    os.dup2(channel, 0)
    for fd, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(os.path.join(scratch, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        os.dup2(file, fd)
        if file != fd:
            os.close(file)
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2:
            try:
                os.close(fd)
            except OSError:
                pass  # the one that listed the folder


def move_in(scratch):
    """Everything that asks for a folder of its own gets the scratch folder."""
    os.chdir(scratch)
    for name in ("HOME", "TMPDIR"):
        os.environ[name] = scratch
    for name in ("TRITON_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME"):
        os.environ[name] = os.path.join(scratch, ".cache")
    tempfile.tempdir = None
    sys.dont_write_bytecode = True


def reset_seeds():
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
