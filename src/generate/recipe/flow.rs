//! What an expression in a function rests on, by names alone.
//!
//! Flow-insensitive: a name stands for everything that is ever assigned to it. That is coarser
//! than the truth, in the direction that each caller names.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use crate::kernel::syntax::{Function, Source, children, descendants};

/// The right-hand sides of a function's names.
pub(super) struct Flow<'s> {
    source: &'s Source,
    values: HashMap<&'s str, Vec<Node<'s>>>,
    /// Those of plain `name = value` statements, without updates and loops.
    definitions: HashMap<&'s str, Vec<Node<'s>>>,
}

impl<'s> Flow<'s> {
    pub(super) fn of(source: &'s Source, function: Function<'s>) -> Self {
        let mut values: HashMap<&str, Vec<Node<'_>>> = HashMap::new();
        let mut definitions: HashMap<&str, Vec<Node<'_>>> = HashMap::new();
        for node in function.body().into_iter().flat_map(descendants) {
            let right = match node.kind() {
                "assignment" | "augmented_assignment" | "for_statement" => "right",
                _ => continue,
            };
            let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name(right));
            let (Some(left), Some(right)) = (left, right) else { continue };
            if node.kind() == "assignment" && left.kind() == "identifier" {
                definitions.entry(source.slice(left)).or_default().push(right);
            }
            for name in descendants(left).filter(|node| node.kind() == "identifier") {
                values.entry(source.slice(name)).or_default().push(right);
            }
        }
        Self { source, values, definitions }
    }

    /// What `name` is defined as by plain assignments.
    pub(super) fn definitions(&self, name: &str) -> &[Node<'s>] {
        self.definitions.get(name).map_or(&[], Vec::as_slice)
    }

    /// Every node of `expression` and of the values it rests on. Nodes that `barrier` accepts
    /// are given, but not entered.
    pub(super) fn reachable(
        &self,
        expression: Node<'s>,
        barrier: impl Fn(Node<'s>) -> bool,
    ) -> impl Iterator<Item = Node<'s>> {
        let mut seen = HashSet::new();
        let mut stack = vec![expression];
        std::iter::from_fn(move || {
            let node = stack.pop()?;
            match node.kind() {
                _ if barrier(node) => {}
                "identifier" => {
                    let name = self.source.slice(node);
                    if seen.insert(name) {
                        stack.extend(self.values.get(name).into_iter().flatten());
                    }
                }
                "keyword_argument" => stack.extend(node.child_by_field_name("value")),
                "attribute" => stack.extend(node.child_by_field_name("object")),
                _ => stack.extend(children(node)),
            }
            Some(node)
        })
    }

    /// Whether `wanted` accepts a node that is [reachable](Self::reachable) from `expression`.
    pub(super) fn reaches(
        &self,
        expression: Node<'s>,
        wanted: impl Fn(Node<'s>) -> bool,
        barrier: impl Fn(Node<'s>) -> bool,
    ) -> bool {
        self.reachable(expression, barrier).any(wanted)
    }
}
