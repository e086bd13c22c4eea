"""Restricts the calling process for good: limits, capabilities, Landlock, seccomp.

Raw system calls through ctypes, since neither Python nor torch brings bindings. `settings` is what
`hello` carries under `child` (PROTOCOL.md). The calling process must have one thread only: Landlock
and seccomp bind the thread that asks, and what it starts later.
"""
import ctypes
import errno
import os
import platform
import resource

# ------------------------------------------------------------------------- linux/landlock.h, ABI 1 to 7
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILES_BY_ABI = {1: (1 << 13) - 1, 2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
_ON_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _READ_FILE | _READ_DIR
# Device nodes are never made: one made in the scratch folder would be a disk that may be written.
_NEVER = _MAKE_CHAR | _MAKE_BLOCK
_BIND_TCP, _CONNECT_TCP = 1, 2
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_NETWORK_ABI, _SCOPE_ABI = 4, 6
_QUERY_VERSION = 1
_PATH_BENEATH = 1

# System call numbers: those of Landlock are the same everywhere.
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_SECCOMP = {"x86_64": 317, "aarch64": 277}.get(platform.machine())
_CAPSET = {"x86_64": 126, "aarch64": 91}.get(platform.machine())

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER, _SECCOMP_GET_ACTION_AVAIL = 1, 2
_SECCOMP_RET_ERRNO = 0x00050000
_CAPABILITY_VERSION_3 = 0x20080522
# What a process of root keeps: files of other users, as far as Landlock allows.
_DAC_OVERRIDE = 1 << 1
# For reading a GPU's performance counters. They also open the environment of every process.
_SYS_ADMIN, _PERFMON = 1 << 21, 1 << 38

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class Unconfined(Exception):
    """The process could not be restricted as asked; the message says what is missing."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_char_p)]


def _syscall(number, *arguments):
    """The call's result; OSError where it fails. Integers are passed in full width."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = _libc.syscall(ctypes.c_long(number), *wide)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def landlock_abi():
    """Version of the kernel's Landlock; 0 without it."""
    try:
        return _syscall(_LANDLOCK_CREATE, None, 0, _QUERY_VERSION)
    except OSError:
        return 0


def _seccomp_works():
    if _SECCOMP is None:
        return False
    try:
        _syscall(_SECCOMP, _SECCOMP_GET_ACTION_AVAIL, 0, ctypes.byref(ctypes.c_uint32(_SECCOMP_RET_ERRNO)))
    except OSError:
        return False
    return True


def missing(settings):
    """What the kernel will not enforce of `settings`, one sentence each."""
    abi, lacks = landlock_abi(), []
    if abi == 0:
        lacks.append("files outside the scratch folder can be read, written and executed"
                     " (needs Landlock, Linux 5.13 or later)")
    elif abi < 3:
        lacks.append("files outside the scratch folder can be truncated (needs Linux 6.2 or later)")
    if abi < _SCOPE_ABI:
        lacks.append("other processes of the user can be sent signals (needs Linux 6.12 or later)")
    if not settings["seccomp"] or not _seccomp_works():
        lacks.append("the network can be used, and system calls are not filtered (needs seccomp)")
    return lacks


def require(settings):
    """`missing`, unless something is missing and best effort is not enough: then Unconfined."""
    lacks = missing(settings)
    if lacks and not settings["best_effort"]:
        raise Unconfined("this kernel does not enforce the whole sandbox: " + "; ".join(lacks))
    return lacks


def limit(settings, device):
    """Limits for good. Memory counts from what the process already has, and on the cpu device only:
    CUDA reserves address space by the terabyte."""
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: settings["open_files"],
        resource.RLIMIT_FSIZE: settings["file_bytes"],
    }
    if device == "cpu":
        limits[resource.RLIMIT_DATA] = _data_bytes() + settings["memory_bytes"]
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(kind, (most, most))


def _data_bytes():
    """What counts towards RLIMIT_DATA now."""
    return int(_status("VmData")) << 10


def _status(name):
    """The first word of a line of /proc/self/status."""
    with open("/proc/self/status") as status:
        return next(line.split()[1] for line in status if line.startswith(f"{name}:"))


def confine(settings, scratch):
    """Takes the rights away. `scratch` may be read and written besides what `settings` name."""
    lacks = require(settings)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise Unconfined("the kernel refuses no_new_privs")
    try:
        _drop_capabilities(settings.get("profiler", False))
        if abi := landlock_abi():
            write = [*settings["write"], scratch]
            _enter_landlock(abi, [*settings["read"], *write], write, settings["execute"], settings.get("map", []))
        if settings["seccomp"] and _seccomp_works():
            _install_filter(bytes.fromhex(settings["seccomp"]))
    except OSError as error:
        raise Unconfined(f"the kernel refused a restriction that it has: {error}") from error
    return lacks


def _drop_capabilities(profiler):
    if _CAPSET is None:
        return
    kept = int(_status("CapPrm"), 16) & (_DAC_OVERRIDE | (_SYS_ADMIN | _PERFMON if profiler else 0))
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    _syscall(_CAPSET, header, (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0))


def _enter_landlock(abi, read, write, execute, in_place):
    handled = 0
    for since, rights in _FILES_BY_ABI.items():
        handled |= rights if abi >= since else 0
    ruleset = _Ruleset(handled)
    if abi >= _NETWORK_ABI:
        ruleset.network = _BIND_TCP | _CONNECT_TCP
    if abi >= _SCOPE_ABI:
        ruleset.scoped = _ABSTRACT_SOCKETS | _SIGNALS
    # An older kernel takes a shorter structure, without the fields that it does not know.
    size = 24 if abi >= _SCOPE_ABI else 16 if abi >= _NETWORK_ABI else 8
    rules = _syscall(_LANDLOCK_CREATE, ctypes.byref(ruleset), size, 0)
    _allow(rules, read, handled & _READ)
    _allow(rules, write, handled & ~_EXECUTE & ~_NEVER)
    _allow(rules, execute, handled & _EXECUTE)
    _allow(rules, in_place, handled & (_READ | _WRITE_FILE))
    _syscall(_LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)


def _allow(rules, paths, rights):
    """Grants `rights` beneath each of `paths` that exists."""
    for path in paths:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENXIO):
                continue
            raise
        allowed = rights if os.path.isdir(path) else rights & _ON_A_FILE
        _syscall(_LANDLOCK_ADD, rules, _PATH_BENEATH, ctypes.byref(_Beneath(allowed, fd)), 0)
        # A rule holds for an inode, and those of /proc are made anew when nobody has them open.
        if not str(path).startswith("/proc"):
            os.close(fd)


def _install_filter(program):
    steps = _Filter(len(program) // 8, program)
    _syscall(_SECCOMP, _SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(steps))
