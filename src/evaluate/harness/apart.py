"""Work in a fork of this process, which changes nothing here: no global, no cache, no loaded library."""
import ctypes
import json
import os
import signal

from .wire import Failure

_PR_SET_PDEATHSIG = 1


def run_apart(work, wire):
    """What `work()` returns, as JSON carries it. A Failure comes back as one; a crash becomes one.

    `wire` is closed in the fork: this process alone holds the conversation.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            os.close(read)
            wire.close()
            with os.fdopen(write, "w") as answer:
                json.dump(_outcome(work), answer)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        outcome = json.loads(text)
    except ValueError:
        how = f"was ended by signal {-code}" if code < 0 else "ended early"
        raise Failure("compile", f"the process that compiles {how}: the compiler crashed or ran out of memory") from None
    if "error" in outcome:
        error = outcome["error"]
        raise Failure(error["kind"], error["message"], line=error.get("line"))
    return outcome["ok"]


def _outcome(work):
    try:
        return {"ok": work()}
    except Failure as failure:
        return {"error": failure.encode()}
