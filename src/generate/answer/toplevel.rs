//! The top level of a source: what each statement binds.

use std::ops::Range;

use tree_sitter::Node;

use crate::kernel::syntax::{Source, children, descendants};

/// A statement at the top level; comments are none.
#[derive(Clone, Debug)]
pub(super) struct Statement<'s> {
    pub(super) node: Node<'s>,
    pub(super) kind: Kind<'s>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind<'s> {
    Import,
    /// Names that a definition or an assignment binds.
    Binds(Vec<&'s str>),
    /// Docstrings, conditions, calls.
    Other,
}

impl Statement<'_> {
    pub(super) fn span(&self) -> Range<usize> {
        self.node.byte_range()
    }

    /// Whether it is a function or a class.
    pub(super) fn is_definition(&self) -> bool {
        matches!(
            self.node.kind(),
            "decorated_definition" | "function_definition" | "class_definition"
        )
    }
}

pub(super) fn statements(source: &Source) -> Vec<Statement<'_>> {
    let full = children(source.root()).filter(|node| node.is_named() && node.kind() != "comment");
    full.map(|node| Statement { node, kind: kind(source, node) }).collect()
}

/// The functions and classes that a source defines at its top level.
pub(super) fn defined(source: &Source) -> Vec<&str> {
    let definitions = statements(source).into_iter().filter(Statement::is_definition);
    definitions
        .flat_map(|statement| match statement.kind {
            Kind::Binds(names) => names,
            _ => Vec::new(),
        })
        .collect()
}

fn kind<'s>(source: &'s Source, node: Node<'s>) -> Kind<'s> {
    match node.kind() {
        "import_statement" | "import_from_statement" | "future_import_statement" => Kind::Import,
        "decorated_definition" => {
            node.child_by_field_name("definition").map_or(Kind::Other, |inner| kind(source, inner))
        }
        "function_definition" | "class_definition" => {
            let name = node.child_by_field_name("name").map(|name| source.slice(name));
            name.map_or(Kind::Other, |name| Kind::Binds(vec![name]))
        }
        "expression_statement" => {
            let assignments = children(node)
                .filter(|it| matches!(it.kind(), "assignment" | "augmented_assignment"));
            let left = assignments.filter_map(|it| it.child_by_field_name("left"));
            let names: Vec<&str> = left
                .flat_map(descendants)
                .filter(|it| it.kind() == "identifier")
                .map(|it| source.slice(it))
                .collect();
            if names.is_empty() { Kind::Other } else { Kind::Binds(names) }
        }
        _ => Kind::Other,
    }
}
