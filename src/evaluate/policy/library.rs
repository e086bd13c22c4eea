//! What of torch and triton the host code may use: memory, shapes and launches, not arithmetic.

use tree_sitter::Node;

use super::Finding;
use super::builtins::is_read;
use super::imports::{self, below};
use super::names::Names;
use crate::kernel::syntax::{Source, descendants};

mod lists;

pub(super) use lists::is_compute_method;

pub(super) fn find(names: &Names<'_>, package: Option<&str>, found: &mut Vec<Finding>) {
    let source = names.source();
    let classes = classes(source);
    for node in descendants(source.root()) {
        let line = source.line(node);
        match node.kind() {
            "identifier" | "attribute" if is_whole_reference(node) => {
                let paths = names.resolve(node);
                for path in &paths {
                    if let Some(message) = objection(path, package) {
                        found.push(Finding { key: path.clone(), line, message });
                    }
                }
                if node.kind() == "attribute" && paths.is_empty() && !names.on_device(node) {
                    found.extend(compute_method(source, node, &classes));
                }
            }
            "binary_operator" | "augmented_assignment" => {
                let operator = node.child_by_field_name("operator").map_or("", |it| it.kind());
                if matches!(operator, "@" | "@=") && !names.on_device(node) {
                    found.push(Finding {
                        key: "operator @".to_owned(),
                        line,
                        message: "multiplies matrices with @ outside a kernel: the product \
                                  must come from a Triton kernel"
                            .to_owned(),
                    });
                }
            }
            _ => {}
        }
    }
    for import in names.imports() {
        let Some(member) = import.member.as_deref().filter(|it| *it != "*") else { continue };
        let path = format!("{}.{member}", import.module);
        if let Some(message) = objection(&path, package).filter(|_| !is_module(&path)) {
            found.push(Finding { key: path, line: source.line(import.node), message });
        }
    }
}

/// Modules that are imported by name to write `F.…`; each use is looked at where it is.
fn is_module(path: &str) -> bool {
    matches!(
        path,
        "torch.nn" | "torch.nn.functional" | "torch.cuda" | "torch.autograd" | "triton.runtime"
    )
}

/// Why the imported `path` may not be used.
fn objection(path: &str, package: Option<&str>) -> Option<String> {
    if below(path, "torch") {
        return torch_objection(path);
    }
    if below(path, "triton") {
        return (!lists::triton_allowed(path)).then(|| {
            format!("uses {path}, which is not among the parts of triton that a kernel file needs")
        });
    }
    if !imports::allowed(path, package) {
        return Some(format!("uses {path}, which the baseline does not use"));
    }
    let own = path.starts_with('.') || package.is_some_and(|package| below(path, package));
    (!own && lists::opens_a_back_door(path))
        .then(|| format!("uses {path}, through which other modules or names can be reached"))
}

fn torch_objection(path: &str) -> Option<String> {
    if lists::torch_allowed(path) {
        return None;
    }
    Some(if matches!(path, "torch" | "torch.nn" | "torch.nn.functional" | "torch.cuda") {
        format!("passes the module {path} around: write out what is used of it")
    } else if lists::TORCH_MACHINERY.iter().any(|it| below(path, it)) || path.contains("._") {
        format!("uses {path}, which reaches into torch's machinery")
    } else {
        format!(
            "uses {path} outside a kernel: allocation, shapes and dtypes may come from torch, \
             the computation must come from a Triton kernel"
        )
    })
}

/// The use of a tensor's method that computes, on a receiver that may be a tensor.
fn compute_method(source: &Source, node: Node<'_>, classes: &[&str]) -> Option<Finding> {
    let method = source.slice(node.child_by_field_name("attribute")?);
    let receiver = node.child_by_field_name("object")?;
    let receiver_text = source.slice(receiver);
    let own = matches!(receiver_text, "self" | "cls" | "super()" | "ctx");
    let literal = matches!(receiver.kind(), "string" | "list" | "dictionary" | "set" | "integer");
    if own || literal || classes.contains(&receiver_text) {
        return None;
    }
    let parent = node.parent()?;
    let called = parent.child_by_field_name("function") == Some(node);
    // `info.max` of a finfo is a number, and `names.sort()` as a statement sorts a list.
    let sorts_a_list = || parent.parent().is_some_and(|it| it.kind() == "expression_statement");
    let message = if lists::changes_the_tensor(method) {
        format!("uses the tensor method {method}, which changes the tensor's nature for its owner")
    } else if !is_compute_method(method)
        || (!called && matches!(method, "min" | "max"))
        || (method == "sort" && sorts_a_list())
    {
        return None;
    } else {
        format!(
            "uses the tensor method {method} outside a kernel: the computation must come from a \
             Triton kernel"
        )
    };
    Some(Finding { key: format!("method {method}"), line: source.line(node), message })
}

/// Whether `node` is read and is not the object of a longer attribute chain.
fn is_whole_reference(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    let written = matches!(parent.kind(), "assignment" | "augmented_assignment")
        && parent.child_by_field_name("left") == Some(node);
    parent.child_by_field_name("object") != Some(node)
        && !(written && node.kind() == "attribute")
        && (node.kind() == "attribute" || is_read(node))
}

/// Names of the classes that the source defines.
fn classes(source: &Source) -> Vec<&str> {
    descendants(source.root())
        .filter(|node| node.kind() == "class_definition")
        .filter_map(|node| node.child_by_field_name("name"))
        .map(|name| source.slice(name))
        .collect()
}
