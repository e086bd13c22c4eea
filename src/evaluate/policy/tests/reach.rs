//! Ways from what a file may use to what it may not.

use super::*;

#[test]
fn paths_below_triton_stay_with_triton() {
    for line in [
        "tl.core.builtins.exec('1')",
        "names = tl.core.inspect.sys.modules",
        "tl.extra.pkgutil.importlib.import_module('os')",
        "again = tl.core.wraps",
        "loader = tl.extra.module_finder",
        "ir = tl.core.ir",
        "table = tl.core.knobs",
        "m = tl.semantic.warnings",
        "m = tl.core.math.sys",
        "names = tl.sum.get_capture_scope()",
        "f = tl.sum.fn",
        "iface = triton.runtime.driver.active.get_device_interface()",
        "from triton.language.core import inspect",
        "from triton.language.core import builtins as b",
        "import triton.language.core as c; c.builtins.exec('1')",
        // Through names that are assigned.
        "core = tl.core; core.builtins.exec('1')",
        "a = b = tl.core; a.builtins.exec('1')",
        "core = (tl if n else tl.math).core; core.partial",
        "(core := tl.core).inspect",
        "one = tl; two = one.extra; two.pkgutil",
        "m = n.nothing or tl.extra; m.pkgutil",
        // Where the name is lost, the module may not go.
        "reach(tl.core)",
        "core, n = tl.core, n",
        "parts = [tl.extra]",
        "return tl",
        "reach = lambda m=tl.core: m",
        "for m in (tl.core,): pass",
        // Whatever holds it, no attribute is a foreign module.
        "x.held.builtins.exec('1')",
        "x.softmax.__call__(-1)",
        "x.max.__call__(-1)",
        "x.cpu().numpy.__call__()",
        "getattr(x, 'importlib')",
    ] {
        assert_ne!(judge_line(line), "accepted", "{line}");
    }
    refused(
        &judge_edit("tl.program_id(0) * BLOCK", "tl.core.builtins.len('') * BLOCK"),
        "uses triton.language.core.builtins.len",
    );
}

#[test]
fn triton_s_own_modules_stay_open() {
    for line in [
        "kind = tl.float32",
        "weight = x.norm.weight",
        "kind = tl.core.dtype",
        "math = tl.math",
        "language = triton.language",
        "has = hasattr(tl, 'make_tensor_descriptor')",
        "has = tl.math is not None",
        "libdevice = tl.extra.cuda.libdevice if n else tl.math",
        "target = triton.runtime.driver.active.get_current_target()",
    ] {
        assert_eq!(judge_line(line), "accepted", "{line}");
    }
    accepted(&judge_edit(
        "x * factor",
        "tl.math.exp(x) * tl.random.rand(0, at) * tl.core.cdiv(n, 2)",
    ));
    accepted(&judge_with(
        "from triton.language import math as tl_math\nfrom triton.language.extra import libdevice",
    ));
    accepted(&judge_with(
        "try:\n    from triton.language.extra.cuda import libdevice\nexcept ImportError:\n    from triton.language.extra import libdevice",
    ));
}

#[test]
fn patterns_read_no_attributes() {
    for case in [
        "object(softmax=work)",
        "object(__globals__=work)",
        "[object(numpy=work), *_]",
        "{'a': object(sum=work)}",
        "int() | object(sum=work)",
        "Mine(work)",
        "x.softmax",
        "x.__class__",
        "torch.softmax",
        "tl.core.builtins.exec",
        "triton",
        "[*triton]",
        "int() as triton",
    ] {
        let verdict = judge_line(&format!("match x:\n        case {case}:\n            pass"));
        assert_ne!(verdict, "accepted", "{case}");
    }
    for case in [
        "torch.float16",
        "int()",
        "(rows, cols)",
        "[first, *rest]",
        "{'a': 1}",
        "Mode.FAST",
        "None",
    ] {
        let verdict = judge_line(&format!("match x:\n        case {case}:\n            pass"));
        assert_eq!(verdict, "accepted", "{case}");
    }
    refused(
        &judge_line("match x:\n        case object(softmax=work): pass"),
        "`object(softmax=work)` reads attributes by a pattern: write each of them out (line 18)",
    );
}

#[test]
fn numpy_does_not_compute() {
    refused(&judge_line("a = x.cpu().numpy() * 3"), "numpy would do the computing (line 17)");
    refused(&judge_line("a = x.numpy"), "numpy would do the computing");
    refused(&judge_line("a = x.__array__()"), "reads the attribute __array__");
    refused(&judge_line("a = getattr(x, 'numpy')()"), "may not be used directly either");
    refused(&judge_line("a = torch.from_numpy(x)"), "uses torch.from_numpy");
    refused(&judge_line("import numpy"), "imports numpy");
}
