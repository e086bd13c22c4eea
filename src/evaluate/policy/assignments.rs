//! Changes to what others own: attributes and items of imported modules, and imported names.

use std::collections::HashSet;

use tree_sitter::Node;

use super::Finding;
use super::builtins::shortened;
use super::names::Names;
use crate::kernel::syntax::descendants;

pub(super) fn find(names: &Names<'_>, found: &mut Vec<Finding>) {
    let source = names.source();
    let borrowed = borrowed_names(names);
    for target in descendants(source.root()).flat_map(targets) {
        let text = source.slice(target);
        let root = source.slice(root(target));
        if !borrowed.contains(root) {
            continue;
        }
        let message = match target.kind() {
            "identifier" if names.imported(root).is_empty() => continue,
            "identifier" if marks_a_failed_import(target) => continue,
            "identifier" => format!("binds the imported name {text} anew"),
            _ => format!("assigns to {}, which belongs to {root}", shortened(text)),
        };
        found.push(Finding { key: format!("assign {text}"), line: source.line(target), message });
    }
}

/// `except ImportError: name = None`.
fn marks_a_failed_import(target: Node<'_>) -> bool {
    let nothing = target
        .parent()
        .and_then(|assignment| assignment.child_by_field_name("right"))
        .is_some_and(|value| matches!(value.kind(), "none" | "false"));
    let mut outer = target.parent();
    while let Some(node) = outer {
        match node.kind() {
            "except_clause" => return nothing,
            "function_definition" | "class_definition" => return false,
            _ => outer = node.parent(),
        }
    }
    false
}

/// Imported names, and names that are assigned something reached through one without a call:
/// after `T = torch.Tensor`, `T.sum = …` patches torch too.
fn borrowed_names<'s>(names: &Names<'s>) -> HashSet<&'s str> {
    let source = names.source();
    let mut borrowed: HashSet<&str> = descendants(source.root())
        .filter(|node| node.kind() == "identifier")
        .map(|node| source.slice(node))
        .filter(|name| !names.imported(name).is_empty())
        .collect();
    let aliases: Vec<(&str, &str)> = descendants(source.root())
        .filter(|node| matches!(node.kind(), "assignment" | "named_expression"))
        .filter_map(|node| {
            let name = node.child_by_field_name("left").or(node.child_by_field_name("name"))?;
            let value = node.child_by_field_name("right").or(node.child_by_field_name("value"))?;
            let chain = matches!(value.kind(), "identifier" | "attribute" | "subscript");
            (name.kind() == "identifier" && chain)
                .then(|| (source.slice(name), source.slice(root(value))))
        })
        .collect();
    loop {
        let before = borrowed.len();
        for (name, value) in &aliases {
            if borrowed.contains(value) {
                borrowed.insert(name);
            }
        }
        if borrowed.len() == before {
            return borrowed;
        }
    }
}

/// The places that `statement` assigns to or deletes.
fn targets(statement: Node<'_>) -> Vec<Node<'_>> {
    let field = match statement.kind() {
        "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => "left",
        "named_expression" | "function_definition" | "class_definition" => "name",
        "as_pattern" => "alias",
        "delete_statement" => {
            let mut places = Vec::new();
            places.extend(statement.named_child(0).into_iter().flat_map(places_in));
            return places;
        }
        _ => return Vec::new(),
    };
    statement.child_by_field_name(field).map(places_in).unwrap_or_default()
}

/// The single places in a target such as `a, (b.c, *d[0])`.
fn places_in(target: Node<'_>) -> Vec<Node<'_>> {
    let mut places = Vec::new();
    let mut stack = vec![target];
    while let Some(node) = stack.pop() {
        match node.kind() {
            "identifier" | "attribute" | "subscript" => places.push(node),
            _ => stack.extend((0..node.named_child_count()).filter_map(|at| node.named_child(at))),
        }
    }
    places
}

/// Where a chain of attributes, items and calls begins.
fn root(node: Node<'_>) -> Node<'_> {
    let mut at = node;
    loop {
        let inner = match at.kind() {
            "attribute" => at.child_by_field_name("object"),
            "subscript" => at.child_by_field_name("value"),
            "parenthesized_expression" => at.named_child(0),
            _ => None,
        };
        match inner {
            Some(inner) => at = inner,
            None => return at,
        }
    }
}
