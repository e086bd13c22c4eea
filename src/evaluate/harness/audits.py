"""Python's audit events that the candidate's own code raises, each with its line.

An audit hook cannot be removed and hears of what happens however the function was got at. Libraries raise
the same events on a candidate's behalf (Triton opens its cache and runs the assembler), so that an event
counts only if the candidate is the nearest code on the stack that does not belong to Python itself. Code that
was made of text and belongs to no library is the candidate's: nobody else would have made it.
"""
import collections
import dataclasses
import functools
import inspect
import linecache
import os
import pathlib
import sys
import threading
import tokenize
import traceback
import types
import typing

import numpy
import torch
import triton

_STANDARD = os.path.dirname(os.__file__) + os.sep
_HARNESS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PACKAGES = tuple(os.path.dirname(package.__file__) + os.sep for package in (torch, triton, numpy))
_PACKAGES += tuple(os.path.join(folder, "") for folder in sys.path if folder.endswith("-packages"))
_PACKAGES += tuple(_STANDARD + name + os.sep for name in ("site-packages", "dist-packages"))
_IMPORTING = ("<frozen importlib", "<frozen zipimport")
_getframe, _modules, _Module, _read = sys._getframe, sys.modules, types.ModuleType, dict.get
_tuple, _vars, _str, _type = tuple, vars, str, type
_is_file = functools.lru_cache(os.path.exists)

# Whose code a frame runs. MADE: code made of text for no module of a library's. COMPANY: other files, as of the project
# that a candidate is a part of.
CANDIDATE, HARNESS, STANDARD, IMPORTING, PACKAGE, MADE, COMPANY = range(7)

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
    "exec": "runs text as code",
    "sys._getframe": "walks the stack of its callers",
    "sys._current_frames": "walks the stacks of all threads",
    "sys._current_exceptions": "looks through the exceptions of all threads",
    "sys.settrace": "traces the process",
    "sys.setprofile": "profiles the process",
    "sys.addaudithook": "listens to the process",
    "object.__getattr__": "reads the attribute {1}, which leads to other code's frames",
    "object.__setattr__": "changes the attribute {1} of a function or class",
    "object.__delattr__": "removes the attribute {1} of a function or class",
    "code.__new__": "makes code objects",
    "function.__new__": "makes functions of code objects",
}
_BEGINNINGS = _tuple(_TOLD)
# What is asked for on behalf of others too counts if it is asked for directly. For a frame also through a function that
# hands on what it got, or through these; namedtuple looks for its caller's name itself.
_FRAMES, _ATTRIBUTES, _TEXT = "sys._getframe", "object.__", "exec"
_ASKING = (inspect.__file__, traceback.__file__)
_NAMING = collections.__file__
# Attributes that are frames, and those that make a function do something else.
_LEADING = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_WORKING = ("__code__", "__defaults__", "__kwdefaults__")
# These make code for whoever calls them.
_MAKING = (collections.__file__, dataclasses.__file__, inspect.__file__, typing.__file__)
# What reads the source of code that is there anyway.
_QUOTING = (linecache.__file__, tokenize.__file__)
# What stores tensors for whoever asks, and what it does.
_STORING = (torch.serialization.__file__, os.path.join(os.path.dirname(numpy.__file__), "lib", ""))
_FILES = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "mmap.", "shutil.", "tempfile.")
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
            raised, line = self._raised_by_candidate(event, arguments)
            if raised and len(self._heard) < _MOST:
                told = {"what": _words(event, arguments), "line": line}
                if told not in self._heard:
                    self._heard.append(told)
        finally:
            self._busy.now = False

    def _raised_by_candidate(self, event, arguments):
        """Whether the candidate raises the event, and the line of its file; False and None if others do."""
        frame, step = _getframe(2), 0
        while frame is not None:
            owner = owner_of(frame, self._path)
            if owner == MADE and frame.f_back is not None and owner_of(frame.f_back, self._path) == PACKAGE:
                return False, None  # torch's compiler and triton's launcher make what they call
            if owner in (CANDIDATE, MADE):
                return True, line_in(frame, self._path)
            if not _passes(event, arguments, owner, frame.f_code.co_filename, step):
                return False, None
            frame, step = frame.f_back, step + 1
        return False, None


def _passes(event, arguments, owner, file, step):
    """Whether what code of that owner raises, the `step`th from the innermost, is still asked of its caller."""
    if owner == PACKAGE:
        return file.startswith(_STORING) and event.startswith(_FILES)
    if owner != STANDARD:
        return False  # an import reads files, triton runs the assembler
    if event.startswith(_ATTRIBUTES):
        if event == "object.__getattr__":
            return arguments[1] in _LEADING and step == 0  # printing an exception reads them deeper down
        return arguments[1] in _WORKING and file != _NAMING
    if event.startswith(_FRAMES):
        return file in _ASKING or (step == 0 and file != _NAMING)
    return not file.startswith(_MAKING if event == _TEXT else _QUOTING)


def owner_of(frame, path):
    """Whose code the frame runs, where `path` is the candidate's file."""
    file = frame.f_code.co_filename
    if file == path:
        return CANDIDATE
    if file.startswith("<frozen "):
        return IMPORTING if file.startswith(_IMPORTING) else STANDARD
    if file.startswith("<"):
        file = _file_made_for(frame)
        if file is None:
            return MADE
    if file.startswith(_HARNESS):
        return HARNESS
    if file.startswith(_PACKAGES):
        return PACKAGE
    if file.startswith(_STANDARD):
        return STANDARD
    return COMPANY if os.path.dirname(file) != os.path.dirname(path) and _is_file(file) else CANDIDATE


def _file_made_for(frame):
    """The file of the library that had this code made of text, as a method of its dataclass. None if there is none."""
    name = _read(frame.f_globals, "__name__")
    module = _modules.get(name) if _type(name) is _str else None
    if module is None or _type(module) is not _Module or _vars(module) is not frame.f_globals:
        return None
    file = _read(frame.f_globals, "__file__")
    return file if _type(file) is _str and file.startswith((_STANDARD, *_PACKAGES)) else None


def line_in(frame, path):
    """The line of the file `path` that led to the frame; None if none did."""
    while frame is not None and frame.f_code.co_filename != path:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno


def _words(event, arguments):
    for beginning, words in _TOLD.items():
        if event.startswith(beginning):
            shown = [_shown(argument)[:80] for argument in arguments[:2]] + ["", ""]
            return words.format(*shown)
    return event


def _shown(value):
    """Without running code of the value's class."""
    return str(value) if type(value) in _PLAIN else "…"


_PLAIN = (str, bytes, int, type(None), type(pathlib.Path()))
