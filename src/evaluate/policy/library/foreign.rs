//! Whose modules the allowed ones hold as attributes: whoever imports one for itself shows it to
//! everybody. The standard library is a closed set, so all of it is listed.
//! Set in columns by hand, as the other lists are.

/// Python's own modules, of 3.10 to 3.14.
#[rustfmt::skip]
const STANDARD: &[&str] = &[
    "abc", "aifc", "annotationlib", "antigravity", "argparse", "array", "ast", "asynchat",
    "asyncio", "asyncore", "atexit", "audioop", "base64", "bdb", "binascii", "bisect",
    "builtins", "bz2", "cProfile", "calendar", "cgi", "cgitb", "chunk", "cmath", "cmd", "code",
    "codecs", "codeop", "collections", "colorsys", "compileall", "compression", "concurrent",
    "configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt", "csv", "ctypes",
    "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis", "distutils",
    "doctest", "email", "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl",
    "filecmp", "fileinput", "fnmatch", "fractions", "ftplib", "functools", "gc", "genericpath",
    "getopt", "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq",
    "hmac", "html", "http", "idlelib", "imaplib", "imghdr", "imp", "importlib", "inspect",
    "interpreters", "io", "ipaddress", "itertools", "json", "keyword", "lib2to3", "linecache",
    "locale", "logging", "lzma", "mailbox", "mailcap", "marshal", "math", "mimetypes", "mmap",
    "modulefinder", "msilib", "msvcrt", "multiprocessing", "netrc", "nis", "nntplib", "nt",
    "ntpath", "nturl2path", "numbers", "opcode", "operator", "optparse", "os", "ossaudiodev",
    "pathlib", "pdb", "pickle", "pickletools", "pipes", "pkgutil", "platform", "plistlib",
    "poplib", "posix", "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile",
    "pyclbr", "pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline",
    "reprlib", "resource", "rlcompleter", "runpy", "sched", "secrets", "select", "selectors",
    "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib", "sndhdr", "socket",
    "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants", "sre_parse", "ssl",
    "stat", "statistics", "string", "stringprep", "struct", "subprocess", "sunau", "symtable",
    "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile", "termios",
    "textwrap", "this", "threading", "time", "timeit", "tkinter", "token", "tokenize",
    "tomllib", "trace", "traceback", "tracemalloc", "tty", "turtle", "turtledemo", "types",
    "typing", "unicodedata", "unittest", "urllib", "uu", "uuid", "venv", "warnings", "wave",
    "weakref", "webbrowser", "winreg", "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc",
    "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
];

/// Modules of others, and of the standard library's under a name of its importer's.
#[rustfmt::skip]
const OTHERS: [&str; 16] = [
    "bltns", "cffi", "cupy", "filelock", "jax", "jinja2", "np", "numpy", "packaging", "pybind11",
    "scipy", "setuptools", "sympy", "torch", "tqdm", "yaml",
];

/// Triton's parts that are no language for kernels, and members that it borrows from others,
/// by the names they have where the language's modules import them.
#[rustfmt::skip]
const BORROWED: [&str; 19] = [
    "backends", "compiler", "contextmanager", "dataclass", "get_device_interface", "ir", "knobs",
    "libtriton", "module", "module_finder", "module_from_spec", "partial", "runtime", "spec",
    "testing", "tl_core", "triton", "warn", "wraps",
];

/// What leads from a kernel to the Python function in it, or to its names.
#[rustfmt::skip]
const INSIDES: [&str; 8] = [
    "base_fn", "fn", "get_capture_scope", "raw_fn", "rewrite", "rewriter", "rewritten_fn",
    "used_global_vals",
];

/// Of these modules, the names that nothing else is called by.
#[rustfmt::skip]
const UNMISTAKABLE: [&str; 13] = [
    "bltns", "builtins", "ctypes", "importlib", "importlib_metadata", "inspect", "linecache", "np",
    "numpy", "pkgutil", "subprocess", "sys", "traceback",
];

/// Whether `name` is that of a module of somebody else than Triton.
pub(super) fn is_module(name: &str) -> bool {
    STANDARD.contains(&name) || OTHERS.contains(&name)
}

/// Whether a path below `triton` leaves what is Triton's and its language's.
pub(super) fn leaves_triton(path: &str) -> bool {
    let mut before = "";
    path.split('.').skip(1).enumerate().any(|(at, name)| {
        let owner = std::mem::replace(&mut before, name);
        // Triton's own, with the names of Python's: `tl.math`, `tl.random`.
        let namesake = owner == "language" && matches!(name, "math" | "random");
        let foreign = is_module(name) || BORROWED.contains(&name);
        // `triton.runtime` itself is a matter of what is allowed.
        (foreign && !namesake && at > 0) || reaches_inside(name)
    })
}

/// Whether the attribute `name` reaches into a kernel.
pub(super) fn reaches_inside(name: &str) -> bool {
    INSIDES.contains(&name)
}

/// Whether the attribute `name` is a module, whatever has it.
pub(super) fn is_surely_a_module(name: &str) -> bool {
    UNMISTAKABLE.contains(&name)
}

/// Parts of Triton that are modules; the last name of their path tells them.
#[rustfmt::skip]
const MODULES: [&str; 22] = [
    "amd", "ampere", "async_copy", "blackwell", "core", "cuda", "extra", "gdc", "gluon", "hip",
    "hopper", "language", "libdevice", "math", "mbarrier", "nvidia", "random", "semantic",
    "standard", "target_info", "tma", "triton",
];

/// Whether `path` is one of Triton's modules, rather than something in one.
pub(super) fn is_tritons_module(path: &str) -> bool {
    path.rsplit('.').next().is_some_and(|it| MODULES.contains(&it))
}
