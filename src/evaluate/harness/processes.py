"""Finding and ending what a process has started."""
import os
import signal
import time

_PATIENCE_SECONDS = 10
_PAUSE_SECONDS = 0.001


def children(pid):
    """Direct children of `pid`, those included that became its own because their parent ended."""
    try:
        found = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as listed:
                found += map(int, listed.read().split())
        return found
    except FileNotFoundError:  # the process has ended, or the kernel has no such list
        return [child for child, parent in _parents().items() if parent == pid]


def _parents():
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                # The name of the program comes in brackets and may hold anything.
                parents[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
        except OSError:
            pass  # ended meanwhile
    return parents


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def end_strays(known):
    """Ends and reaps all children of this process that are not in `known`, with their descendants.

    When a process ends, its children become those of this process (a sub-reaper), so that this is
    repeated until none is left. One that cannot die yet is left to a later call.
    """
    me, deadline = os.getpid(), time.monotonic() + _PATIENCE_SECONDS
    while strays := [child for child in children(me) if child not in known]:
        if time.monotonic() > deadline:
            return
        for stray in strays:
            for pid in (stray, *descendants(stray)):
                _kill(pid)
        time.sleep(_PAUSE_SECONDS)
        for stray in strays:
            _reap(stray)


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _reap(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
