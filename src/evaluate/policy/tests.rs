use insta::assert_snapshot;

use super::*;

mod honest;
mod reach;
mod roles;

/// A file in the habit of most: imports, a kernel, an entry that launches it.
const BASELINE: &str = r"
import torch
import triton
import triton.language as tl


@triton.jit
def _scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * factor, mask=at < n)


def kernel_function(x, factor=2.0):
    y = torch.empty_like(x)
    n = x.numel()
    _scale[(triton.cdiv(n, 1024),)](x, y, n, factor, BLOCK=1024)
    return y
";

fn rules() -> PolicyRules {
    PolicyRules { entries: vec!["kernel_function".to_owned()], ..PolicyRules::default() }
}

fn judge_against(baseline: &str, candidate: &str, rules: &PolicyRules) -> String {
    let gate = PolicyGate::new(Source::parse(baseline).unwrap(), rules.clone()).unwrap();
    match gate.check(candidate.as_bytes()) {
        Ok(()) => "accepted".to_owned(),
        Err(rejection) => {
            assert_eq!(rejection.gate, Gate::Policy);
            rejection.to_string()
        }
    }
}

fn judge(candidate: &str) -> String {
    judge_against(BASELINE, candidate, &rules())
}

/// The verdict on the baseline with `old` replaced by `new`.
fn judge_edit(old: &str, new: &str) -> String {
    assert!(BASELINE.contains(old), "the baseline has no {old}");
    judge(&BASELINE.replace(old, new))
}

/// The verdict on the baseline with `more` at its end.
fn judge_with(more: &str) -> String {
    judge(&format!("{BASELINE}\n\n{more}\n"))
}

/// The verdict on an entry with `line` in it, before the launch.
fn judge_line(line: &str) -> String {
    judge_edit("    n = x.numel()\n", &format!("    n = x.numel()\n    {line}\n"))
}

fn accepted(verdict: &str) {
    assert_eq!(verdict, "accepted");
}

fn refused(verdict: &str, why: &str) {
    assert!(verdict.contains(why), "{verdict}");
}

/// The verdict on `candidate` without a baseline.
fn judge_alone(candidate: &str) -> String {
    check_alone(candidate.as_bytes()).map_or_else(|it| it.to_string(), |()| "accepted".to_owned())
}

#[test]
fn the_baseline_and_an_honest_change_of_its_kernel_pass() {
    accepted(&judge(BASELINE));
    accepted(&judge_edit("1024", "2048"));
    accepted(&judge_edit("x * factor", "tl.where(x > 0.0, x, 0.0).to(tl.float32) * factor"));
    accepted(&judge_edit("import torch\n", "import functools\nimport math\nimport torch\n"));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    let long = format!("{BASELINE}#{}\n", "x".repeat(1 << 20));
    assert_snapshot!(judge(&long), @"policy: the source has 1049027 bytes; at most 1048576 (1 MB) are allowed");
    assert_snapshot!(judge_edit("return y", "return y +"), @"policy: not valid Python near `return y +` (line 18)");
    let nested = format!("{BASELINE}\nx = {}1{}\n", "(".repeat(600), ")".repeat(600));
    assert_snapshot!(judge(&nested), @"policy: nested more than 500 levels deep (line 20)");

    let gate = PolicyGate::new(Source::parse(BASELINE).unwrap(), rules()).unwrap();
    let latin = gate.check(b"import torch\nx = '\xe9'\n").unwrap_err();
    assert_snapshot!(latin, @"policy: the source is not UTF-8 (line 2)");
}

#[test]
fn python_must_not_read_another_program_than_the_gate_does() {
    assert_snapshot!(judge(&format!("# -*- coding: utf-7 -*-{BASELINE}")), @"policy: declares the encoding utf-7; only UTF-8 is allowed (line 1)");
    assert_snapshot!(judge_line("pass  # nothing\r    import os"), @"policy: a NUL or a carriage return without a line feed: Python would split the lines elsewhere than the reader of the source does (line 17)");
    assert_snapshot!(judge_line("ｅval('1')"), @"policy: the name ｅval is not ASCII: Python normalises such names, so it may stand for another (line 17)");
    accepted(&judge(&format!("# -*- coding: utf-8 -*-{BASELINE}")));
    accepted(&judge(&BASELINE.replace('\n', "\r\n")));
    accepted(&judge_line("pass  # 1 µs sooner"));
}

#[test]
fn the_work_stays_with_a_triton_kernel() {
    let undecorated = BASELINE.replace("@triton.jit\n", "");
    assert_snapshot!(judge(&undecorated), @"policy: no function is decorated with @triton.jit: the work must be done by a Triton kernel");
    // A decorator that only looks like it counts for nothing.
    assert_snapshot!(judge_edit("@triton.jit", "@mine.jit"), @"policy: no function is decorated with @triton.jit: the work must be done by a Triton kernel");
    accepted(&judge_edit(
        "@triton.jit",
        "@triton.autotune(configs=[triton.Config({})], key=['n'])\n@triton.jit",
    ));
    // Where the baseline has no kernel, a candidate need not have one.
    accepted(&judge_against(
        "def kernel_function(x, factor=2.0):\n    return x\n",
        &undecorated,
        &rules(),
    ));
}

#[test]
fn the_entry_keeps_its_name_and_parameters() {
    assert_snapshot!(judge_edit("def kernel_function", "def faster"), @"policy: the entry kernel_function is gone: callers know it by that name");
    assert_snapshot!(judge_edit("(x, factor=2.0)", "(factor, x)"), @"policy: the entry kernel_function(x, factor=…) became kernel_function(factor, x): it must keep its parameters, in order and with their defaults; further ones need a default (line 14)");
    assert_snapshot!(judge_edit("(x, factor=2.0)", "(x, factor)"), @"policy: the entry kernel_function(x, factor=…) became kernel_function(x, factor): it must keep its parameters, in order and with their defaults; further ones need a default (line 14)");
    assert_snapshot!(judge_edit("(x, factor=2.0)", "(x, factor=2.0, *, out)"), @"policy: the entry kernel_function(x, factor=…) became kernel_function(x, factor=…, *, out): it must keep its parameters, in order and with their defaults; further ones need a default (line 14)");
    accepted(&judge_edit(
        "(x, factor=2.0)",
        "(x: torch.Tensor, factor: float = 2.0, *, block=1024)",
    ));
}

#[test]
fn the_entry_may_become_an_instance_of_a_class_or_an_alias_of_a_function() {
    let renamed = BASELINE.replace("def kernel_function", "def run");
    accepted(&judge(&format!("{renamed}\n\nkernel_function = run\n")));
    let class =
        "class Run:\n    def __call__(self, x, factor=2.0):\n        return run(x, factor)\n";
    accepted(&judge(&format!("{renamed}\n\n{class}\n\nkernel_function = Run()\n")));
    assert_snapshot!(judge(&format!("{renamed}\n\nkernel_function = lambda *args: run(*args)\n")), @"policy: the entry kernel_function must be a function, or an instance of a class, of this file: how it is called cannot be read from its definition (line 21)");
}

#[test]
fn a_class_as_entry_keeps_its_constructor_and_forward() {
    let baseline = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self, size):\n        super().__init__()\n        self.size = size\n\n    def forward(self, x):\n        return x\n";
    let rules = PolicyRules { entries: vec!["ModelNew".to_owned()], ..PolicyRules::default() };
    accepted(&judge_against(baseline, baseline, &rules));
    let other = baseline.replace("forward(self, x)", "forward(self, x, y)");
    assert_snapshot!(judge_against(baseline, &other, &rules), @"policy: the entry ModelNew.forward(x) became ModelNew.forward(x, y): it must keep its parameters, in order and with their defaults; further ones need a default (line 4)");
    let function = "def ModelNew(size):\n    return size\n";
    assert_snapshot!(judge_against(baseline, function, &rules), @"policy: the entry ModelNew was a class and must stay one (line 1)");
}

#[test]
fn imports_come_from_a_short_list_or_from_the_baseline() {
    assert_snapshot!(judge_edit("import torch\n", "import os, torch\n"), @"policy: imports os: a candidate may import torch, triton, plain modules such as math and functools, and what the baseline imports (line 2)");
    assert_snapshot!(judge_line("from importlib import import_module"), @"policy: imports importlib: a candidate may import torch, triton, plain modules such as math and functools, and what the baseline imports (line 17)");
    assert_snapshot!(judge_line("import torch.utils.cpp_extension"), @"policy: imports torch.utils.cpp_extension, which has no place in a kernel file (line 17)");
    assert_snapshot!(judge_line("from torch._inductor import config"), @"policy: imports torch._inductor, which has no place in a kernel file (line 17)");
    assert_snapshot!(judge_line("from torch import *"), @"policy: `from torch import *` hides which names it binds: import them by name (line 17)");
    assert_snapshot!(judge_line("from .reference import softmax"), @"policy: imports .reference: this file is not part of a package (line 17)");

    let baseline = BASELINE.replace("import torch\n", "import os\nimport torch\n")
        + "\n\nDEBUG = os.environ.get('DEBUG')\n";
    accepted(&judge_against(&baseline, &baseline.replace("1024", "512"), &rules()));
    // Of such a module, only what the baseline uses.
    let shell = baseline.replace("return y", "os.system('true')\n    return y");
    assert_snapshot!(judge_against(&baseline, &shell, &rules()), @"policy: uses os.system, which the baseline does not use (line 19)");
    let package = PolicyRules { package: Some("ops".to_owned()), ..rules() };
    let relative = BASELINE
        .replace("import torch\n", "import torch\nfrom .tuning import block\nimport ops.tuning\n");
    accepted(&judge_against(BASELINE, &relative, &package));
}

#[test]
fn code_does_not_run_text_touch_files_or_look_names_up() {
    assert_snapshot!(judge_line("exec('import os')"), @"policy: uses exec: a candidate may not run text as code, touch files, or look names up (line 17)");
    assert_snapshot!(judge_line("log = open('/tmp/log')"), @"policy: uses open: a candidate may not run text as code, touch files, or look names up (line 17)");
    assert_snapshot!(judge_line("run = eval"), @"policy: uses eval: a candidate may not run text as code, touch files, or look names up (line 17)");
    assert_snapshot!(judge_line("f'{globals()}'"), @"policy: uses globals: a candidate may not run text as code, touch files, or look names up (line 17)");
    assert_snapshot!(judge_line("__builtins__['eval']('1')"), @"policy: uses __builtins__: a candidate may not run text as code, touch files, or look names up (line 17)");
    assert_snapshot!(judge_line("mm = getattr(torch, 'matmul')"), @"policy: `getattr(torch, 'matmul')` calls getattr on a module: write the attribute out (line 17)");
    assert_snapshot!(judge_line("total = getattr(x, 'su' + 'm')()"), @"policy: `getattr(x, 'su' + 'm')` calls getattr with a name that cannot be read from the source (line 17)");
    assert_snapshot!(judge_line("total = getattr(x, 'sum')()"), @"policy: `getattr(x, 'sum')` calls getattr for an attribute that may not be used directly either (line 17)");
    assert_snapshot!(judge_line("base = x.__class__"), @"policy: reads the attribute __class__, which reaches behind an object's interface (line 17)");
    assert_snapshot!(judge_with("import math\n\n\ndef f():\n    return math.sys"), @"policy: uses math.sys, through which other modules or names can be reached (line 25)");
    assert_snapshot!(judge_with("import operator\n\n\ndef f(a, b):\n    return operator.matmul(a, b)"), @"policy: uses operator.matmul, through which other modules or names can be reached (line 25)");

    accepted(&judge_line("warps = getattr(x, 'num_warps', 4)"));
    accepted(&judge_line("name = f'{x.__class__.__name__}()'"));
    assert_snapshot!(judge_line("x.__class__.__init__(x)"), @"policy: reads the attribute __class__, which reaches behind an object's interface (line 17)");
    assert_snapshot!(judge_line("x.__class__.__name__ = 'y'"), @"policy: reads the attribute __class__, which reaches behind an object's interface (line 17)");
    // A name of one's own is not the built-in …
    accepted(&judge_with(
        "def first(input, compile=None):\n    return input if compile is None else compile",
    ));
    // … unless it is bound where the built-in would be read first.
    assert_snapshot!(judge_with("class Files:\n    open = open"), @"policy: uses open: a candidate may not run text as code, touch files, or look names up (line 22)");
    assert_snapshot!(judge_with("def f(names):\n    [open for open in names]\n    return open('x')"), @"policy: uses open: a candidate may not run text as code, touch files, or look names up (line 22)");
}

#[test]
fn the_library_does_not_do_the_kernels_work() {
    assert_snapshot!(judge_line("return torch.mul(x, factor)"), @"policy: uses torch.mul outside a kernel: allocation, shapes and dtypes may come from torch, the computation must come from a Triton kernel (line 17)");
    assert_snapshot!(judge_line("mul = torch.mul"), @"policy: uses torch.mul outside a kernel: allocation, shapes and dtypes may come from torch, the computation must come from a Triton kernel (line 17)");
    assert_snapshot!(judge_with("import torch.nn.functional as F\n\n\ndef f(x):\n    return F.softmax(x, -1)"), @"policy: uses torch.nn.functional.softmax outside a kernel: allocation, shapes and dtypes may come from torch, the computation must come from a Triton kernel (line 25)");
    assert_snapshot!(judge_with("from torch import softmax as prepare"), @"policy: uses torch.softmax outside a kernel: allocation, shapes and dtypes may come from torch, the computation must come from a Triton kernel (line 21)");
    assert_snapshot!(judge_line("return x.mul_(factor)"), @"policy: uses the tensor method mul_ outside a kernel: the computation must come from a Triton kernel (line 17)");
    assert_snapshot!(judge_line("library = torch"), @"policy: passes the module torch around: write out what is used of it (line 17)");
    assert_snapshot!(judge_line("reduce = x.view(-1).sum"), @"policy: uses the tensor method sum outside a kernel: the computation must come from a Triton kernel (line 17)");
    assert_snapshot!(judge_line("return x @ x"), @"policy: multiplies matrices with @ outside a kernel: the product must come from a Triton kernel (line 17)");
    assert_snapshot!(judge_with("@torch.compile\ndef f(x):\n    return x"), @"policy: uses torch.compile, which reaches into torch's machinery (line 21)");
    assert_snapshot!(judge_line("torch.cuda.synchronize()"), @"policy: uses torch.cuda.synchronize, which reaches into torch's machinery (line 17)");
    assert_snapshot!(judge_line("x.requires_grad_(True)"), @"policy: uses the tensor method requires_grad_, which changes the tensor's nature for its owner (line 17)");
    assert_snapshot!(judge_line("triton.testing.do_bench(kernel_function)"), @"policy: uses triton.testing.do_bench, which is not among the parts of triton that a kernel file needs (line 17)");
}

#[test]
fn memory_shapes_types_and_host_arithmetic_are_free() {
    for line in [
        "part = torch.zeros((n // 2 + 1, 4), device=x.device, dtype=torch.float32)",
        "x = x.contiguous().view(-1).to(torch.bfloat16).transpose(0, -1).unsqueeze(1).detach()",
        "low = torch.finfo(x.dtype).min",
        "block = max(16, min(1024, triton.next_power_of_2(n)))",
        "programs = torch.cuda.get_device_properties(x.device).multi_processor_count * 4",
        "sizes = sorted({'a': 1}.values()); sizes.sort(); seen = set(); seen.add(n)",
        "constants = torch.tensor([1.0 / n, 1e-5], device=x.device)",
    ] {
        assert_eq!(judge_line(line), "accepted", "{line}");
    }
    // In a kernel the same words are Triton's.
    accepted(&judge_edit("x * factor", "(x * factor) / tl.exp(x).max().sum()"));
}

#[test]
fn what_the_baseline_computes_with_torch_may_stay() {
    let baseline = BASELINE.replace("return y", "return torch.relu(y).sum(-1)");
    accepted(&judge_against(&baseline, &baseline.replace("1024", "512"), &rules()));
    assert_snapshot!(judge_against(&baseline, &baseline.replace("relu", "softmax"), &rules()), @"policy: uses torch.softmax outside a kernel: allocation, shapes and dtypes may come from torch, the computation must come from a Triton kernel (line 18)");
}

#[test]
fn nothing_that_belongs_to_others_is_assigned_to() {
    assert_snapshot!(judge_with("torch.allclose = lambda *_: True"), @"policy: assigns to torch.allclose, which belongs to torch (line 21)");
    assert_snapshot!(judge_line("torch.backends.cuda.matmul.allow_tf32 = True"), @"policy: assigns to torch.backends.cuda.matmul.allow_tf32, which belongs to torch (line 17)");
    assert_snapshot!(judge_with("T = torch.Tensor\nT.same = lambda *_: True"), @"policy: assigns to T.same, which belongs to T (line 22)");
    assert_snapshot!(judge_line("del triton.cdiv"), @"policy: assigns to triton.cdiv, which belongs to triton (line 17)");
    assert_snapshot!(judge_line("for torch.seed in range(3): pass"), @"policy: assigns to torch.seed, which belongs to torch (line 17)");
    assert_snapshot!(judge_line("setattr(tl, 'load', None)"), @"policy: uses setattr: a candidate may not run text as code, touch files, or look names up (line 17)");
    assert_snapshot!(judge_with("class triton:\n    jit = staticmethod(lambda f: f)"), @"policy: binds the imported name triton anew (line 21)");
    accepted(&judge_with(
        "try:\n    from triton.language.extra import libdevice\nexcept ImportError:\n    libdevice = None",
    ));
    accepted(&judge_with(
        "class Plan:\n    def __init__(self):\n        self.block = 64\n        self.sizes = {}\n        self.sizes[0] = 1",
    ));
}

#[test]
fn importing_a_candidate_defines_things_and_does_nothing() {
    assert_snapshot!(judge_with("print('PASSED')"), @"policy: `print('PASSED')` runs when the module is imported: only imports, definitions and assignments may stand there (line 21)");
    assert_snapshot!(judge_with("while True:\n    pass"), @"policy: `while True: pass` runs when the module is imported: only imports, definitions and assignments may stand there (line 21)");
    assert_snapshot!(judge_with("if torch.cuda.is_available():\n    print('here')"), @"policy: `if torch.cuda.is_available(): print('here')` runs when the module is imported: only imports, definitions and assignments may stand there (line 21)");
    assert_snapshot!(judge_with("try:\n    _SIZE = 3\nexcept ValueError:\n    exit(0)"), @"policy: `try: _SIZE = 3 except ValueError: exit(0)` runs when the module is imported: only imports, definitions and assignments may stand there (line 21)");
    assert_snapshot!(judge_with("class A:\n    print('made')"), @"policy: `print('made')` runs when its class is made: only imports, definitions and assignments may stand there (line 22)");
    accepted(&judge_with(
        "'''Notes.'''\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from typing import Any\n_SIZES: dict = {n: n for n in range(3)}",
    ));
    accepted(&judge_with(
        "if torch.cuda.is_available():\n    _WARPS = 8\nelif len(_scale.arg_names) > 2:\n    _WARPS = 2\nelse:\n    _WARPS = 4",
    ));
    accepted(&judge_with(
        "_CONFIGS = []\nfor warps in (4, 8):\n    _CONFIGS.append(triton.Config({}, num_warps=warps))\nassert _CONFIGS",
    ));
    accepted(&judge_with("if __name__ == '__main__':\n    print(kernel_function(torch.ones(3)))"));
    let baseline = format!("{BASELINE}\n\nprint('hello')\n");
    accepted(&judge_against(&baseline, &baseline, &rules()));
}

#[test]
fn a_file_that_stands_for_itself_needs_a_kernel_and_has_no_habits_to_keep() {
    let alone = |source: &str| {
        check_alone(source.as_bytes())
            .map_or_else(|rejection| rejection.to_string(), |()| "accepted".into())
    };
    accepted(&alone(BASELINE));
    assert_snapshot!(alone("import torch\n\n\ndef kernel_function(x):\n    return x\n"), @"policy: no function is decorated with @triton.jit: the work must be done by a Triton kernel");
    assert_snapshot!(alone("import torch\n\n\ndef kernel_function(x):\n    return torch.relu(x)\n"), @"policy: uses torch.relu outside a kernel: allocation, shapes and dtypes may come from torch, the computation must come from a Triton kernel (line 5)");
}

#[test]
fn outputs_are_plain_tensors() {
    assert_snapshot!(judge_with("class Agreeable(torch.Tensor):\n    pass"), @"policy: the class Agreeable stands in for a tensor: outputs must be plain tensors, so that comparing them compares their values (line 21)");
    assert_snapshot!(judge_with("class Proxy:\n    def __torch_function__(self, function, types, args=()):\n        return True"), @"policy: the class Proxy stands in for a tensor: outputs must be plain tensors, so that comparing them compares their values (line 21)");
    assert_snapshot!(judge_line("y = y.as_subclass(type(x))"), @"policy: uses the tensor method as_subclass, which changes the tensor's nature for its owner (line 17)");
}

#[test]
fn only_the_editable_symbols_change() {
    let baseline = format!(
        "{BASELINE}\n\n_LIMIT = 4\n\n\ndef limit(sizes):\n    return min(_LIMIT, len(sizes))\n"
    );
    let rules = PolicyRules {
        editable: Some(vec!["_scale".to_owned(), "kernel_function".to_owned()]),
        ..rules()
    };
    let judge = |candidate: &str| judge_against(&baseline, candidate, &rules);

    accepted(&judge(&baseline));
    accepted(&judge(
        &baseline.replace("1024", "512").replace("import torch\n", "import math\nimport torch\n"),
    ));
    accepted(&judge(&format!("{baseline}\n\ndef _half(n):\n    return n // 2\n")));

    assert_snapshot!(judge(&baseline.replace("_LIMIT = 4", "_LIMIT = 5")), @"policy: changes _LIMIT: only _scale, kernel_function may change (line 21)");
    assert_snapshot!(judge(&baseline.replace("def limit(", "def bound(")), @"policy: removes limit: only _scale, kernel_function may change");
    assert_snapshot!(judge(&format!("{baseline}\n\ndef limit(sizes):\n    return 0\n")), @"policy: changes limit: only _scale, kernel_function may change (line 24)");
    assert_snapshot!(judge(&format!("{baseline}\n\ndef min(*sizes):\n    return 0\n")), @"policy: binds the new name min, which code that may not change already uses (line 28)");
    assert_snapshot!(judge(&format!("from operator import neg as len\n{baseline}")), @"policy: binds the new name len, which code that may not change already uses (line 1)");
    assert_snapshot!(judge(&baseline.replace("    y = torch", "    global _LIMIT\n    _LIMIT = 9\n    y = torch")), @"policy: declares _LIMIT global, which may not change (line 15)");
    assert_snapshot!(judge(&baseline.replace("import torch\n", "import torch as pt\n")), @"policy: removes the import of torch, which code elsewhere may rely on");
    assert_snapshot!(judge(&format!("'''Mine.'''\n{baseline}")), @"policy: changes the statements outside of definitions (`'''Mine.'''`): only _scale, kernel_function may change (line 1)");
}
