//! In which order names are read and written.

use tree_sitter::Node;

use crate::kernel::syntax::{Source, children, descendants};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// How often the identifier `name` occurs in `node`.
pub(super) fn mentions(source: &Source, node: Node<'_>, name: &str) -> usize {
    descendants(node).filter(|it| it.kind() == "identifier" && source.slice(*it) == name).count()
}

/// What happens first to `name` when `nodes` are executed in turn.
pub(super) fn first_use_in(source: &Source, nodes: &[Node<'_>], name: &str) -> Option<Use> {
    nodes.iter().find_map(|node| first_use(source, *node, name))
}

/// What happens first to `name` when `node` is executed. A write that not every path makes
/// counts as a read, since the earlier value may live on.
pub(super) fn first_use(source: &Source, node: Node<'_>, name: &str) -> Option<Use> {
    let field = |name| node.child_by_field_name(name);
    let used = |node: Option<Node<'_>>| node.and_then(|node| first_use(source, node, name));
    match node.kind() {
        "identifier" => (source.slice(node) == name).then_some(Use::Read),
        "attribute" => used(field("object")),
        "keyword_argument" => used(field("value")),
        "assignment" => used(field("right")).or_else(|| target(source, field("left")?, name)),
        "augmented_assignment" => used(field("right")).or_else(|| used(field("left"))),
        "for_statement" => used(field("right"))
            .or_else(|| target(source, field("left")?, name))
            .or_else(|| used(field("body")))
            .or_else(|| used(field("alternative"))),
        "if_statement" => used(field("condition")).or_else(|| branches(source, node, name)),
        _ => children(node).find_map(|child| first_use(source, child, name)),
    }
}

/// A name or a pattern of names is written; an item or an attribute of one is read.
fn target(source: &Source, node: Node<'_>, name: &str) -> Option<Use> {
    match node.kind() {
        "identifier" => (source.slice(node) == name).then_some(Use::Write),
        "pattern_list" | "tuple_pattern" => {
            children(node).find_map(|child| target(source, child, name))
        }
        _ => first_use(source, node, name),
    }
}

fn branches(source: &Source, node: Node<'_>, name: &str) -> Option<Use> {
    let mut cursor = node.walk();
    let others: Vec<_> = node.children_by_field_name("alternative", &mut cursor).collect();
    let complete = others.iter().any(|it| it.kind() == "else_clause");
    let all: Vec<_> = node
        .child_by_field_name("consequence")
        .iter()
        .chain(&others)
        .map(|branch| first_use(source, *branch, name))
        .collect();
    if all.iter().all(Option::is_none) {
        return None;
    }
    let written = complete && all.iter().all(|it| *it == Some(Use::Write));
    Some(if written { Use::Write } else { Use::Read })
}
