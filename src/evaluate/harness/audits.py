"""Python's audit events that the candidate's own code raises, each with its line.

An audit hook cannot be removed and hears of what happens however the function was got at. Libraries raise
the same events on a candidate's behalf (Triton opens its cache and runs the assembler), so that an event
counts only if the candidate's file is the nearest code on the stack that does not belong to Python itself.
"""
import inspect
import linecache
import os
import sys
import threading
import tokenize
import traceback

_STANDARD = os.path.dirname(os.__file__) + os.sep
_PACKAGES = tuple(_STANDARD + name + os.sep for name in ("site-packages", "dist-packages"))
_getframe, _tuple = sys._getframe, tuple

# Events by their beginning, with what they say of who raises them. `{0}` is the event's first argument.
_TOLD = {
    "_thread.start_new_thread": "starts a thread",
    "socket.": "uses a network socket",
    "os.fork": "starts a process",
    "os.exec": "starts a program",
    "os.posix_spawn": "starts a process",
    "os.spawn": "starts a process",
    "os.system": "runs a command of the shell",
    "pty.spawn": "starts a process",
    "subprocess.Popen": "starts a process",
    "os.kill": "sends signals to processes",
    "signal.pthread_kill": "sends signals to threads",
    "open": "opens the file {0}",
    "os.listdir": "lists the folder {0}",
    "os.scandir": "lists the folder {0}",
    "os.remove": "removes the file {0}",
    "os.rename": "renames the file {0}",
    "os.mkdir": "makes the folder {0}",
    "os.link": "links the file {0}",
    "os.symlink": "links the file {0}",
    "os.chmod": "changes the mode of {0}",
    "os.truncate": "cuts off the file {0}",
    "shutil.": "copies or moves files",
    "tempfile.": "makes temporary files",
    "mmap.__new__": "maps memory",
    "ctypes.": "reaches native code through ctypes",
    "gc.get_objects": "searches the objects of its process",
    "gc.get_refer": "searches the objects of its process",
    "sys._getframe": "walks the stack of its callers",
    "sys._current_frames": "walks the stacks of all threads",
    "sys._current_exceptions": "looks through the exceptions of all threads",
    "sys.settrace": "traces the process",
    "sys.setprofile": "profiles the process",
    "sys.addaudithook": "listens to the process",
    "object.__getattr__": "reads the attribute {1}, which leads to other code's frames",
    "object.__setattr__": "changes the attribute {1} of a function or class",
    "code.__new__": "makes code objects",
    "function.__new__": "makes functions of code objects",
}
_BEGINNINGS = _tuple(_TOLD)
# namedtuple, enum and logging ask for frames as well; only a direct question counts, or one through these.
_FRAMES, _ATTRIBUTES = "sys._getframe", "object.__"
_ASKING = (inspect.__file__, traceback.__file__)
# What reads the source of code that is there anyway.
_QUOTING = (linecache.__file__, tokenize.__file__)
_MOST = 16


class Audit:
    """Hears the events of this process from now on."""

    def __init__(self, path):
        self._path, self._heard, self._busy = path, [], threading.local()
        sys.addaudithook(self._hear)

    def take(self):
        """[{"what", "line"}] since the last time, each once."""
        heard, self._heard = self._heard, []
        return heard

    def _hear(self, event, arguments):
        if not event.startswith(_BEGINNINGS) or getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            line = self._raised_by_candidate(event)
            if line is not None and len(self._heard) < _MOST:
                told = {"what": _words(event, arguments), "line": line}
                if told not in self._heard:
                    self._heard.append(told)
        finally:
            self._busy.now = False

    def _raised_by_candidate(self, event):
        """The line of the candidate's file that raises the event; None if others do."""
        frame = _getframe(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if name == self._path:
                return frame.f_lineno
            if event.startswith(_ATTRIBUTES):
                passing = False
            elif event.startswith(_FRAMES):
                passing = name in _ASKING
            else:
                passing = name.startswith(_STANDARD) and not name.startswith((*_PACKAGES, *_QUOTING))
            if not passing:
                return None  # frozen modules too: an import reads files
            frame = frame.f_back
        return None


def _words(event, arguments):
    for beginning, words in _TOLD.items():
        if event.startswith(beginning):
            shown = [str(argument)[:80] for argument in arguments[:2]] + ["", ""]
            return words.format(*shown)
    return event
