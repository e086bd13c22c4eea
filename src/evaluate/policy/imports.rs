//! What a candidate may import.

use super::Finding;
use super::library::may_decorate;
use super::names::{Import, Names};

/// Modules that a kernel file has a use for, with what lies below them.
const ALLOWED: [&str; 17] = [
    "__future__",
    "abc",
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "logging",
    "math",
    "numbers",
    "operator",
    "torch",
    "triton",
    "typing",
    "typing_extensions",
    "warnings",
];

/// Parts of these that load native code, compile the reference or reach files and processes.
const FORBIDDEN: [&str; 14] = [
    "logging.config",
    "logging.handlers",
    "torch.classes",
    "torch.compiler",
    "torch.distributed",
    "torch.hub",
    "torch.jit",
    "torch.multiprocessing",
    "torch.ops",
    "torch.package",
    "torch.profiler",
    "torch.testing",
    "torch.utils",
    "triton.testing",
];

pub(super) fn find(names: &Names<'_>, package: Option<&str>, found: &mut Vec<Finding>) {
    for import in names.imports() {
        let statement = names.source().slice(import.node);
        let line = names.source().line(import.node);
        if let Some(message) = objection(import, package) {
            found.push(Finding { key: format!("import {}", import.module), line, message });
        }
        if import.member.as_deref() == Some("*") && import.module != "triton.language" {
            found.push(Finding {
                key: format!("import {}.*", import.module),
                line,
                message: format!("`{statement}` hides which names it binds: import them by name"),
            });
        }
    }
}

fn objection(import: &Import<'_>, package: Option<&str>) -> Option<String> {
    let module = &import.module;
    if !allowed(module, package) {
        return Some(if module.starts_with('.') {
            format!("imports {module}: this file is not part of a package")
        } else {
            format!(
                "imports {module}: a candidate may import torch, triton, plain modules such as \
                 math and functools, and what the baseline imports"
            )
        });
    }
    let library = below(module, "torch") || below(module, "triton");
    let private = library && module.contains("._");
    let decorator = import.member.is_some() && may_decorate(&import.path);
    let forbidden = !decorator && FORBIDDEN.iter().any(|it| below(module, it));
    (private || forbidden).then(|| format!("imports {module}, which has no place in a kernel file"))
}

/// Whether what `module` holds may be used at all, without a look at the baseline.
pub(super) fn allowed(module: &str, package: Option<&str>) -> bool {
    if module.starts_with('.') {
        return package.is_some();
    }
    ALLOWED.iter().copied().chain(package).any(|it| below(module, it))
}

/// Whether `path` is `root` or something in it.
pub(super) fn below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
