//! What of torch and triton the host code may use: memory, shapes and launches, not arithmetic.

use tree_sitter::Node;

use super::imports::{self, below};
use super::names::{Names, chain};
use super::receivers::Receivers;
use super::scopes::{Scopes, is_read};
use super::{Finding, PolicyRules, layers};
use crate::kernel::syntax::descendants;

mod foreign;
mod lists;

pub(super) use lists::may_decorate;

pub(super) fn find(names: &Names<'_>, rules: &PolicyRules, found: &mut Vec<Finding>) {
    let source = names.source();
    let receivers = Receivers::of(names);
    let mut scopes = Scopes::of(source);
    for node in descendants(source.root()) {
        let line = source.line(node);
        match node.kind() {
            "identifier" | "attribute" if is_whole_reference(node) => {
                let paths = names.resolve(node);
                let mut object = |path: &str, message| {
                    found.push(Finding { key: path.to_owned(), line, message });
                };
                for path in &paths {
                    let excused = || {
                        (lists::may_decorate(path) && decorates(node))
                            || layers::makes_one(names, node)
                    };
                    if let Some(message) = objection(path, rules).filter(|_| !excused()) {
                        object(path, message);
                    }
                }
                for path in names.follow(node) {
                    if let Some(message) = objection(&path, rules) {
                        object(&path, message);
                    }
                }
                for path in paths.iter().chain(&names.follow(node)) {
                    if foreign::is_tritons_module(path)
                        && below(path, "triton")
                        && escapes(names, node)
                    {
                        object(path, around(path));
                    }
                }
                let host = node.kind() == "attribute" && !names.on_device(node);
                // A parameter with the name of an import may be a tensor.
                let shadowed = host
                    && chain(source, node)
                        .is_some_and(|(root, _)| scopes.shadowed(root, source.slice(root)));
                if host && (paths.is_empty() || shadowed) {
                    found.extend(compute_method(names, node, &receivers));
                    found.extend(receivers.unbound(names, node));
                }
            }
            // `x.held.builtins.exec`, `x.softmax.__call__`: not only where the chain ends.
            "attribute"
                if is_inner(node)
                    && !names.on_device(node)
                    && leads_on(names, node)
                    && names.resolve(node).is_empty() =>
            {
                found.extend(compute_method(names, node, &receivers));
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
        if let Some(message) = objection(&path, rules).filter(|_| !looked_at_where_used(&path)) {
            found.push(Finding { key: path, line: source.line(import.node), message });
        }
    }
    layers::find(names, found);
}

/// Modules that are imported by name to write `F.…`, and what may stand in some places only:
/// each use is looked at where it is.
fn looked_at_where_used(path: &str) -> bool {
    lists::may_decorate(path)
        || matches!(
            path,
            "torch.nn" | "torch.nn.functional" | "torch.cuda" | "torch.autograd" | "triton.runtime"
        )
}

/// Whether `node` decorates, by itself or called.
fn decorates(node: Node<'_>) -> bool {
    let call = node.parent().filter(|it| it.child_by_field_name("function") == Some(node));
    call.unwrap_or(node).parent().is_some_and(|it| it.kind() == "decorator")
}

/// Whether the module `node` goes where its name is lost. A name that it is assigned to is
/// followed.
fn escapes(names: &Names<'_>, node: Node<'_>) -> bool {
    let mut at = node;
    loop {
        let Some(outer) = at.parent() else { return true };
        let is = |field| outer.child_by_field_name(field) == Some(at);
        match outer.kind() {
            "conditional_expression" | "boolean_operator" | "parenthesized_expression" => {}
            "assignment" if is("left") => return false,
            "assignment" | "named_expression" => {
                let name = outer.child_by_field_name("left").or(outer.child_by_field_name("name"));
                if name.is_none_or(|it| it.kind() != "identifier") {
                    return true;
                }
                // `a = b = tl.core`, and `(a := tl.core).…`.
                let more = outer.parent().is_some_and(|it| it.kind() != "expression_statement");
                if !more {
                    return false;
                }
            }
            "comparison_operator"
            | "not_operator"
            | "if_statement"
            | "elif_clause"
            | "assert_statement"
            | "expression_statement" => return false,
            "argument_list" => {
                let call = outer.parent().and_then(|it| it.child_by_field_name("function"));
                return call.is_none_or(|it| names.source().slice(it) != "hasattr");
            }
            _ => return true,
        }
        at = outer;
    }
}

fn around(path: &str) -> String {
    format!("passes the module {path} around: write out what is used of it")
}

/// Whether the attribute `name` may not be read of whatever is no kernel's variable.
pub(super) fn refuses_attribute(name: &str) -> bool {
    lists::is_compute_method(name)
        || lists::changes_the_tensor(name)
        || foreign::reaches_inside(name)
        || foreign::is_surely_a_module(name)
}

/// Why the imported `path` may not be used.
pub(super) fn objection(path: &str, rules: &PolicyRules) -> Option<String> {
    let package = rules.package.as_deref();
    if below(path, "torch") {
        return torch_objection(path)
            .filter(|_| !(rules.gradients && lists::brings_a_gradient(path)));
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
        around(path)
    } else if lists::TORCH_MACHINERY.iter().any(|it| below(path, it)) || path.contains("._") {
        format!("uses {path}, which reaches into torch's machinery")
    } else {
        format!(
            "uses {path} outside a kernel: allocation, shapes and dtypes may come from torch, \
             the computation must come from a Triton kernel"
        )
    })
}

/// The use of a tensor's method that computes, or of an attribute that leads elsewhere, on a
/// receiver that may have it.
fn compute_method<'s>(
    names: &Names<'s>,
    node: Node<'s>,
    receivers: &Receivers<'s>,
) -> Option<Finding> {
    let source = names.source();
    let method = source.slice(node.child_by_field_name("attribute")?);
    let receiver = node.child_by_field_name("object")?;
    let literal = matches!(receiver.kind(), "string" | "list" | "dictionary" | "set" | "integer");
    if literal || !refuses_attribute(method) || receivers.own(names, receiver, method) {
        return None;
    }
    let parent = node.parent()?;
    let called = parent.child_by_field_name("function") == Some(node);
    // `info.max` of a finfo is a number, and `names.sort()` as a statement sorts a list.
    let sorts_a_list = || parent.parent().is_some_and(|it| it.kind() == "expression_statement");
    let message = if lists::changes_the_tensor(method) {
        format!("uses the tensor method {method}, which changes the tensor's nature for its owner")
    } else if method == "numpy" {
        "uses the tensor method numpy outside a kernel: numpy would do the computing".to_owned()
    } else if foreign::reaches_inside(method) {
        format!("reads the attribute {method}, through which a kernel is a function of the host")
    } else if foreign::is_surely_a_module(method) {
        format!("reads the attribute {method}, which is a module that may not be imported")
    } else if (!called && !is_inner(node) && matches!(method, "min" | "max"))
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

fn is_inner(node: Node<'_>) -> bool {
    node.parent().is_some_and(|it| it.child_by_field_name("object") == Some(node))
}

/// Whether the attribute `node`, of which an attribute is read, is a module or a method: what is
/// read of a number or of a layer called `norm` has another name.
fn leads_on(names: &Names<'_>, node: Node<'_>) -> bool {
    let name =
        |node: Node<'_>| node.child_by_field_name("attribute").map(|it| names.source().slice(it));
    let of_method = node.parent().and_then(name).is_some_and(|it| it.starts_with("__"));
    let leaves = |it: &str| foreign::reaches_inside(it) || foreign::is_surely_a_module(it);
    of_method || name(node).is_some_and(leaves)
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
