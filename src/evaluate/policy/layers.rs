//! Layers of torch.nn that a module holds for their weights: they may be made in its `__init__`,
//! so that its parameters have the names and first values that the reference's have. Calling one
//! would let torch compute.

use tree_sitter::Node;

use super::Finding;
use super::names::Names;
use super::receivers::{derives_from, methods};
use crate::kernel::syntax::{children, descendants};

/// Modules that only hold others.
const CONTAINERS: [&str; 4] = [
    "torch.nn.ModuleDict",
    "torch.nn.ModuleList",
    "torch.nn.ParameterDict",
    "torch.nn.ParameterList",
];

/// Tensors, which a call may be given.
const TENSORS: [&str; 2] = ["torch.nn.Parameter", "torch.nn.Buffer"];

/// Whether `node`, which names a class of torch.nn, makes a layer that `self.NAME = …` keeps.
pub(super) fn makes_one(names: &Names<'_>, node: Node<'_>) -> bool {
    let Some(call) = node.parent().filter(|it| it.child_by_field_name("function") == Some(node))
    else {
        return false;
    };
    is_made(names, node, false) && kept_by(names, call).is_some()
}

/// Whether `callee` surely is a layer, or, where these count, a container.
fn is_made(names: &Names<'_>, callee: Node<'_>, containers: bool) -> bool {
    let paths = names.resolve(callee);
    !paths.is_empty()
        && paths.iter().all(|path| {
            let container = CONTAINERS.contains(&path.as_str());
            let layer = path.strip_prefix("torch.nn.").is_some_and(|it| {
                it.starts_with(|c: char| c.is_ascii_uppercase()) && !it.contains('.')
            });
            if container { containers } else { layer && !TENSORS.contains(&path.as_str()) }
        })
}

/// The attribute that keeps what `call` makes, by itself or in containers, and the class.
fn kept_by<'s>(names: &Names<'s>, call: Node<'s>) -> Option<(&'s str, Node<'s>)> {
    let source = names.source();
    let mut inner = call;
    let assignment = loop {
        let outer = inner.parent()?;
        match outer.kind() {
            "assignment" => break outer,
            "call" if is_made(names, outer.child_by_field_name("function")?, true) => {}
            "argument_list"
            | "keyword_argument"
            | "list"
            | "tuple"
            | "dictionary"
            | "pair"
            | "list_comprehension"
            | "generator_expression"
            | "dictionary_comprehension"
            | "list_splat"
            | "conditional_expression"
            | "parenthesized_expression" => {}
            _ => return None,
        }
        inner = outer;
    };
    let place = assignment.child_by_field_name("left").filter(|it| it.kind() == "attribute")?;
    if source.slice(place.child_by_field_name("object")?) != "self" {
        return None;
    }
    let mut at = assignment.parent();
    while let Some(node) = at {
        if node.kind() == "class_definition" {
            let in_init = derives_from(names, node, &["torch.nn.Module"])
                && methods(node).any(|method| {
                    method
                        .child_by_field_name("name")
                        .is_some_and(|it| source.slice(it) == "__init__")
                        && method.byte_range().contains(&assignment.start_byte())
                });
            let name = source.slice(place.child_by_field_name("attribute")?);
            return in_init.then_some((name, node));
        }
        at = node.parent();
    }
    None
}

/// Uses of such layers for anything but what they hold.
pub(super) fn find(names: &Names<'_>, found: &mut Vec<Finding>) {
    let source = names.source();
    // The class, the name, and whether it is a container.
    let mut kept: Vec<(Node<'_>, &str, bool)> = Vec::new();
    for call in descendants(source.root()).filter(|node| node.kind() == "call") {
        let Some(callee) = call.child_by_field_name("function") else { continue };
        if let Some((name, class)) = kept_by(names, call).filter(|_| is_made(names, callee, false))
        {
            let alone = call.parent().is_some_and(|it| it.kind() == "assignment");
            match kept.iter_mut().find(|it| (it.0, it.1) == (class, name)) {
                Some(known) => known.2 &= !alone,
                None => kept.push((class, name, !alone)),
            }
        }
    }
    for (class, layer, contained) in &kept {
        for node in descendants(*class).filter(|node| node.kind() == "attribute") {
            let part = |field| node.child_by_field_name(field);
            let own = part("object").is_some_and(|it| it.kind() == "identifier")
                && part("attribute").is_some_and(|it| source.slice(it) == *layer);
            if own && computes(names, node, *contained) {
                found.push(Finding {
                    key: format!("layer {layer}"),
                    line: source.line(node),
                    message: format!(
                        "uses the layer {layer} of torch.nn for more than its weights: the \
                         computation must come from a Triton kernel"
                    ),
                });
            }
        }
    }
}

/// Whether the layer `node` is called, or handed to what may call it.
fn computes(names: &Names<'_>, node: Node<'_>, contained: bool) -> bool {
    let mut at = node;
    loop {
        let Some(outer) = at.parent() else { return true };
        let is = |field| outer.child_by_field_name(field) == Some(at);
        match outer.kind() {
            "subscript" if is("value") => at = outer,
            "parenthesized_expression" => at = outer,
            "assignment" if is("left") => return false,
            "attribute" => {
                let read = outer.child_by_field_name("attribute");
                let read = read.map_or("", |it| names.source().slice(it));
                return read == "forward" || read.starts_with('_');
            }
            "call" => return true,
            "comparison_operator"
            | "not_operator"
            | "boolean_operator"
            | "if_statement"
            | "conditional_expression"
            | "assert_statement" => return false,
            // Containers are walked through, and asked for their length.
            _ if contained => return false,
            "argument_list" => {
                let call = outer.parent().and_then(|it| it.child_by_field_name("function"));
                return call.is_none_or(|it| names.source().slice(it) != "hasattr");
            }
            "expression_statement" => return children(outer).count() > 1,
            _ => return true,
        }
    }
}
