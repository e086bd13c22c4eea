//! Which scope binds a name: whether an identifier means what the file's imports, or Python's
//! built-ins, say.

use std::collections::HashMap;

use tree_sitter::Node;

use crate::kernel::syntax::{Source, children, descendants};

/// Which functions bind which names; remembered, since a name may occur very often.
#[derive(Debug)]
pub(super) struct Scopes<'s> {
    source: &'s Source,
    binds: HashMap<(usize, &'s str), bool>,
}

impl<'s> Scopes<'s> {
    pub(super) fn of(source: &'s Source) -> Self {
        Self { source, binds: HashMap::new() }
    }

    /// Whether the identifier `node` is read and means the built-in: no enclosing function binds
    /// the name.
    ///
    /// Bindings in a module or a class do not count: there, `open = open` reads the built-in.
    pub(super) fn leave_to_builtins(&mut self, node: Node<'s>, name: &'s str) -> bool {
        is_read(node) && !self.shadowed(node, name)
    }

    /// Whether a function around `node` has a parameter or a local variable called `name`.
    pub(super) fn shadowed(&mut self, node: Node<'s>, name: &'s str) -> bool {
        let source = self.source;
        let mut inner = node;
        while let Some(outer) = inner.parent() {
            let scope = matches!(outer.kind(), "function_definition" | "lambda");
            let in_body = outer.child_by_field_name("body") == Some(inner);
            if scope && in_body {
                let known = self.binds.entry((outer.id(), name));
                if *known.or_insert_with(|| binds(source, outer, name)) {
                    return true;
                }
            }
            inner = outer;
        }
        false
    }
}

/// Whether `function` has a parameter or a local variable called `name`.
fn binds(source: &Source, function: Node<'_>, name: &str) -> bool {
    let mut bound = false;
    for node in descendants(function) {
        if matches!(node.kind(), "global_statement" | "nonlocal_statement")
            && children(node).any(|it| source.slice(it) == name)
        {
            return false;
        }
        bound |= node.kind() == "identifier"
            && source.slice(node) == name
            && !is_read(node)
            && scope_of_binding(node) == Some(function);
    }
    bound
}

/// The function in whose scope an identifier is bound; `None` for other scopes.
fn scope_of_binding(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node.parent()?;
    if at.child_by_field_name("name") == Some(node)
        && matches!(at.kind(), "function_definition" | "class_definition")
    {
        at = at.parent()?;
    }
    loop {
        match at.kind() {
            "function_definition" | "lambda" => return Some(at),
            "class_definition"
            | "list_comprehension"
            | "set_comprehension"
            | "dictionary_comprehension"
            | "generator_expression"
            | "keyword_argument"
            | "attribute" => return None,
            _ => at = at.parent()?,
        }
    }
}

/// Whether the identifier is read, rather than bound, or the name of a keyword argument.
pub(super) fn is_read(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return true };
    let is = |field| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "parameters"
        | "lambda_parameters"
        | "typed_parameter"
        | "list_splat_pattern"
        | "dictionary_splat_pattern"
        | "pattern_list"
        | "tuple_pattern"
        | "global_statement"
        | "nonlocal_statement"
        | "dotted_name"
        | "aliased_import" => false,
        "default_parameter" | "typed_default_parameter" | "keyword_argument" => !is("name"),
        "function_definition" | "class_definition" => !is("name"),
        "assignment" | "for_statement" | "for_in_clause" => !is("left"),
        "attribute" => !is("attribute"),
        _ => true,
    }
}

/// How often `name` is bound below `root`, in whatever scope. What can be in doubt counts: it is
/// asked where a name must mean one thing only.
pub(super) fn bindings(source: &Source, root: Node<'_>, name: &str) -> usize {
    descendants(root)
        .filter(|node| node.kind() == "identifier" && source.slice(*node) == name)
        .filter(|node| is_bound(*node))
        .count()
}

/// Whether the identifier is, or may be, bound where it stands.
pub(super) fn is_bound(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    let is = |field| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "attribute" | "keyword_argument" => false,
        "as_pattern" | "as_pattern_target" | "list_pattern" | "splat_pattern"
        | "delete_statement" | "type_parameter" => true,
        "named_expression" => is("name"),
        "augmented_assignment" => is("left"),
        "expression_list" => {
            parent.parent().is_some_and(|outer| outer.kind() == "delete_statement")
        }
        _ => !is_read(node),
    }
}
