//! What honest files do that looks like something else.

use super::*;

#[test]
fn what_runs_only_as_a_script_is_not_judged() {
    let main = "if __name__ == \"__main__\":\n    import os\n    print(torch.softmax(torch.ones(3), -1).numpy(), os)";
    accepted(&judge_with(main));
    accepted(&judge_alone(&format!("{BASELINE}\n\n{main}\n")));
    accepted(&judge_with(&main.replace('"', "'")));
    for other in [
        main.replace("==", "!="),
        main.replace("__main__", "main"),
        main.replace(":\n", " or True:\n"),
        format!("{main}\nelse:\n    import os"),
        format!("def f():\n    {}", main.replace('\n', "\n    ")),
        format!("__name__ = '__main__'\n{main}"),
        format!("def f():\n    global __name__\n    __name__ = '__main__'\n\n\n{main}"),
        format!("{main}\nimport os"),
    ] {
        assert_ne!(judge_with(&other), "accepted", "{other}");
    }
    // Lines below keep their numbers, whatever ends them.
    let after = format!("{BASELINE}\n{main}\nimport os\n");
    refused(
        &judge(&after),
        "imports os: a candidate may import torch, triton, plain modules such as math and functools, and what the baseline imports (line 23)",
    );
    refused(&judge(&after.replace('\n', "\r\n")), "(line 23)");
}

#[test]
fn views_and_checks_of_arguments_pass() {
    for line in [
        "a, b = torch.chunk(x, 2, dim=-1)",
        "a, b = torch.split(x, 2)",
        "torch._check(n > 0)",
        "torch._assert(n > 0, 'empty')",
    ] {
        assert_eq!(judge_line(line), "accepted", "{line}");
    }
}

#[test]
fn some_decorators_of_torch_pass_as_decorators() {
    for decorator in [
        "@torch.compiler.disable",
        "@torch.compiler.disable(recursive=False)",
        "@torch.amp.custom_fwd(device_type='cuda')",
        "@torch.amp.custom_bwd(device_type='cuda')",
        "@torch.cuda.amp.custom_fwd",
        "@torch.no_grad()",
    ] {
        accepted(&judge_with(&format!("{decorator}\ndef f(x):\n    return x")));
    }
    accepted(&judge_with(
        "from torch.amp import custom_fwd\nfrom torch.compiler import disable\n\n\n@disable\n@custom_fwd(device_type='cuda')\ndef f(x):\n    return x",
    ));
    refused(&judge_line("f = torch.compiler.disable(x)"), "reaches into torch's machinery");
    refused(&judge_with("from torch.compiler import disable\nf = disable"), "torch's machinery");
    refused(&judge_with("import torch.compiler"), "imports torch.compiler");
}

#[test]
fn gradients_are_defined_where_the_contract_asks_for_them() {
    let function = "class Scale(torch.autograd.Function):\n    @staticmethod\n    @torch.amp.custom_fwd(device_type='cuda')\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        ctx.std = 1\n        return kernel_function(x)\n\n    @staticmethod\n    def backward(ctx, dy):\n        (x,) = ctx.saved_tensors\n        return kernel_function(dy, ctx.std)\n\n\ndef f(x):\n    return Scale.apply(x)";
    let candidate = format!("{BASELINE}\n\n{function}\n");
    let asked = PolicyRules { gradients: true, ..rules() };
    accepted(&judge_against(BASELINE, &candidate, &asked));
    accepted(&judge_against(
        BASELINE,
        &candidate
            .replace("torch.autograd.Function", "Function")
            .replace("import torch\n", "import torch\nfrom torch.autograd import Function\n"),
        &asked,
    ));
    assert!(check_alone_by(candidate.as_bytes(), &asked).is_ok());
    refused(&judge(&candidate), "uses torch.autograd.Function");
    let more = candidate.replace("return Scale.apply(x)", "return torch.autograd.grad(x)");
    refused(&judge_against(BASELINE, &more, &asked), "uses torch.autograd.grad");
    let computes = candidate.replace("kernel_function(dy, ctx.std)", "dy.mul(2)");
    refused(&judge_against(BASELINE, &computes, &asked), "uses the tensor method mul");
}

/// The verdict on a module that makes layers with `init` and runs `forward`.
fn judge_module(init: &str, forward: &str) -> String {
    judge_with(&format!(
        "import torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        {init}\n\n    def forward(self, x):\n        {forward}"
    ))
}

#[test]
fn a_module_may_hold_layers_for_their_weights() {
    let weights = "return kernel_function(x, self.fc.weight.t(), self.fc.bias)";
    accepted(&judge_module("self.fc = nn.Linear(n, n)", weights));
    accepted(&judge_module(
        "self.scale = nn.Parameter(torch.ones(n))",
        "return kernel_function(x, self.scale)",
    ));
    accepted(&judge_module(
        "self.norm = nn.LayerNorm(n)",
        "return kernel_function(x, self.norm.weight, self.norm.eps)",
    ));
    accepted(&judge_module(
        "self.fc = nn.Linear(n, n) if n else None",
        "return x if self.fc is None else self.fc.weight",
    ));
    accepted(&judge_module(
        "self.all = nn.ModuleList([nn.Linear(n, n) for _ in range(3)])",
        "return [it.weight for it in self.all]",
    ));
    accepted(&judge_module(
        "self.all = nn.Sequential(nn.Linear(n, n), nn.ReLU())",
        "return self.all[0].weight",
    ));
}

#[test]
fn a_parameter_is_no_layer() {
    accepted(&judge_module(
        "self.scale = nn.Parameter(torch.ones(n))",
        "return kernel_function(x, self.scale)",
    ));
}

#[test]
fn a_layer_is_not_called() {
    let layer = "self.fc = nn.Linear(n, n)";
    for forward in [
        "return self.fc(x)",
        "return self.fc.forward(x)",
        "return self.fc.__call__(x)",
        "return self.fc._conv_forward(x)",
        "return (self.fc)(x)",
        "f = self.fc; return f(x)",
        "return run(self.fc, x)",
        "return nn.Linear(3, 3)(x)",
        "return nn.functional.linear(x, self.fc.weight)",
    ] {
        assert_ne!(judge_module(layer, forward), "accepted", "{forward}");
    }
    refused(
        &judge_module(layer, "return self.fc(x)"),
        "uses the layer fc of torch.nn for more than its weights",
    );
    for (init, forward) in [
        ("self.all = nn.Sequential(nn.Linear(n, n))", "return self.all(x)"),
        ("self.all = nn.ModuleList([nn.Linear(n, n)])", "return self.all[0](x)"),
        ("self.all = nn.ModuleList([nn.Linear(n, n)])", "return self.all[0].forward(x)"),
        ("self.y = nn.Softmax(-1)(n)", "return x"),
        ("self.y = nn.Softmax(-1).forward(n)", "return x"),
        ("self.y = run(nn.Softmax(-1), n)", "return x"),
        ("fc = nn.Linear(n, n)", "return x"),
        ("n.fc = nn.Linear(n, n)", "return x"),
    ] {
        assert_ne!(judge_module(init, forward), "accepted", "{init} {forward}");
    }
    refused(
        &judge_with(
            "class Loose:\n    def __init__(self):\n        self.fc = torch.nn.Linear(1, 1)",
        ),
        "uses torch.nn.Linear",
    );
}
