//! What is device code, and which receivers are no tensors.

use super::*;

/// The verdict on the baseline with a function of the host that `decorators` make look like a
/// kernel.
fn judge_decorated(before: &str, decorators: &str) -> String {
    judge_with(&format!("{before}\n\n\n{decorators}\ndef host(x):\n    return x.softmax(-1)"))
}

#[test]
fn a_kernel_is_decorated_by_triton_alone() {
    accepted(&judge_decorated("", "@triton.jit"));
    accepted(&judge_decorated("", "@triton.jit(noinline=True)"));
    accepted(&judge_decorated(
        "",
        "@triton.autotune(configs=[], key=[])\n@triton.heuristics({})\n@triton.jit",
    ));
    accepted(&judge_decorated("from triton import jit", "@jit"));
    for (before, decorators) in [
        ("def unjit(f):\n    return f", "@unjit\n@triton.jit"),
        ("def unjit(f):\n    return f", "@triton.jit\n@unjit"),
        ("import functools", "@functools.partial\n@triton.jit"),
        ("from triton import jit\nfrom functools import cache as jit", "@jit"),
        ("", "@(lambda f: f)\n@triton.jit"),
    ] {
        refused(&judge_decorated(before, decorators), "uses the tensor method softmax");
    }
    let shadowed = "def make(triton):\n    @triton.jit\n    def host(x):\n        return x.softmax(-1)\n    return host";
    refused(&judge_with(shadowed), "uses the tensor method softmax");
    let alone = format!(
        "{BASELINE}\n\ndef unjit(f):\n    return f\n\n\n@unjit\n@triton.jit\ndef host(x):\n    return x.softmax(-1)\n"
    );
    refused(&judge_alone(&alone), "uses the tensor method softmax");
}

#[test]
fn the_baseline_s_decorators_stay_as_they_are() {
    let baseline = format!(
        "{BASELINE}\n\ndef counted(f):\n    return f\n\n\n@counted\n@triton.jit\ndef _other(x):\n    x.max()\n"
    );
    accepted(&judge_against(&baseline, &baseline.replace("x.max()", "x.min()"), &rules()));
    let changed =
        baseline.replace("    return f\n", "    return f or f\n").replace("x.max()", "x.min()");
    refused(&judge_against(&baseline, &changed, &rules()), "uses the tensor method min");
}

#[test]
fn a_kernel_s_function_is_out_of_reach() {
    for line in [
        "f = _scale.fn",
        "f = _scale.__wrapped__",
        "f = _scale.get_capture_scope()",
        "f = getattr(_scale, 'fn')",
        "f = _scale.rewrite()",
    ] {
        assert_ne!(judge_line(line), "accepted", "{line}");
    }
    accepted(&judge_with(
        "class Held:\n    def __init__(self, fn):\n        self.fn = fn\n\n    def run(self):\n        return self.fn()",
    ));
}

#[test]
fn self_is_the_first_parameter_of_a_method() {
    refused(&judge_line("self = x; self.softmax(-1)"), "uses the tensor method softmax");
    refused(&judge_line("ctx = x; ctx.softmax(-1)"), "uses the tensor method softmax");
    for class in [
        "def run(cls):\n    return cls.softmax(-1)",
        "class A:\n    def softmax(self, x):\n        self = x\n        return self.softmax(-1)",
        "class A:\n    def softmax(self, x):\n        return (lambda self: self.softmax(-1))(x)",
        "class A:\n    def softmax(self, x):\n        for self in x:\n            self.softmax(-1)",
        "class A:\n    def softmax(self, x):\n        with x as self:\n            self.softmax(-1)",
        "class A:\n    def softmax(x, self):\n        return self.softmax(-1)",
        "class A:\n    @staticmethod\n    def softmax(self):\n        return self.softmax(-1)",
        "class A:\n    @own\n    def softmax(self):\n        return self.softmax(-1)",
        "class A:\n    def softmax(self):\n        return self.softmax(-1)\n    f = staticmethod(softmax)",
        // The class has no such attribute: what has it came from elsewhere.
        "class A:\n    def run(self):\n        return self.softmax(-1)",
        "class A(type(torch.empty(0))):\n    pass",
    ] {
        assert_ne!(judge_with(class), "accepted", "{class}");
    }
    let class = "class A:\n    def __init__(self):\n        self.max = 1\n        self.mean, self.std = 0, 1\n        self.register_buffer('var', None)\n\n    def sum(self):\n        return [self.std + self.mean + self.var for _ in range(self.max)]\n\n    def run(self):\n        return self.sum()";
    accepted(&judge_with(class));
    refused(
        &judge_with(&format!("{class}\n\n\ndef f(x):\n    return A.run(x)")),
        "uses the method A.run without an instance",
    );
}

#[test]
fn a_class_s_name_is_bound_once_and_at_the_top() {
    let with =
        |class: &str| judge_with(&format!("{class}\n\n\ndef f(x):\n    return x.softmax(-1)"));
    refused(
        &with("def unused():\n    class x:\n        softmax = 1"),
        "uses the tensor method softmax",
    );
    refused(&with("class x:\n    softmax = 1"), "uses the tensor method softmax");
    accepted(&judge_with(
        "class Rows:\n    @staticmethod\n    def softmax(n):\n        return n\n\n\ndef f(x):\n    return Rows.softmax(1)",
    ));
}

#[test]
fn a_parameter_with_an_import_s_name_may_be_a_tensor() {
    refused(
        &judge_with("import math\n\n\ndef f(math):\n    return math.softmax(-1)"),
        "uses the tensor method softmax",
    );
    refused(
        &judge_with("from math import log as z\n\n\ndef f(z):\n    return z.softmax(-1)"),
        "uses the tensor method softmax",
    );
    accepted(&judge_with("import math\n\n\ndef f(n):\n    return math.exp(n)"));
}
