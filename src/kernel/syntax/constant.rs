//! Names that stand for one integer: `BLOCK_M = 16`, `BLOCK_M, BLOCK_N = 64, 32`.

use tree_sitter::Node;

use super::{Function, Source, children, descendants};

/// A name that is assigned an integer literal, and nothing else, in its scope.
#[derive(Clone, Copy, Debug)]
pub struct Constant<'s> {
    pub name: &'s str,
    pub value: i64,
    /// The literal itself.
    pub literal: Node<'s>,
    /// The function in which it is assigned; `None` at module level.
    pub scope: Option<Function<'s>>,
}

impl Source {
    /// The constant that `name` stands for in `host`: its own, else the module's.
    pub fn constant<'s>(&'s self, name: &str, host: Option<Function<'s>>) -> Option<Constant<'s>> {
        if let Some(function) = host {
            let own = function.parameters().iter().any(|parameter| parameter.name == name);
            if own || self.binds(function.node(), Some(function), name) > 0 {
                return self.constant_in(name, Some(function));
            }
        }
        self.constant_in(name, None)
    }

    fn constant_in<'s>(&'s self, name: &str, scope: Option<Function<'s>>) -> Option<Constant<'s>> {
        let root = scope.map_or_else(|| self.root(), |function| function.node());
        if scope.is_some_and(|function| function.parameters().iter().any(|p| p.name == name))
            || self.binds(root, scope, name) != 1
        {
            return None;
        }
        let assignments = descendants(root).filter(|node| node.kind() == "assignment");
        let mut pairs = assignments
            .filter(|node| self.scope_of(*node) == scope.map(|function| function.node()))
            .flat_map(|node| self.assigned_pairs(node));
        let (target, literal) = pairs.find(|(target, _)| self.slice(*target) == name)?;
        let value = integer(self, literal)?;
        Some(Constant { name: self.slice(target), value, literal, scope })
    }

    /// How often `name` is bound within `root` in `scope`: assigned, augmented, looped over.
    fn binds(&self, root: Node<'_>, scope: Option<Function<'_>>, name: &str) -> usize {
        let bound = |node: &Node<'_>| {
            let field = match node.kind() {
                "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => "left",
                "named_expression" => "name",
                _ => return false,
            };
            let left = node.child_by_field_name(field);
            left.is_some_and(|left| {
                descendants(left).any(|n| n.kind() == "identifier" && self.slice(n) == name)
            }) && self.scope_of(*node) == scope.map(|function| function.node())
        };
        descendants(root).filter(bound).count()
    }

    fn scope_of<'s>(&'s self, node: Node<'s>) -> Option<Node<'s>> {
        self.function_around(node).map(|function| function.node())
    }

    /// The (target, value) pairs of an assignment, tuples taken apart.
    fn assigned_pairs<'s>(&self, node: Node<'s>) -> Vec<(Node<'s>, Node<'s>)> {
        let (Some(left), Some(right)) =
            (node.child_by_field_name("left"), node.child_by_field_name("right"))
        else {
            return Vec::new();
        };
        let named = |node| children(node).filter(|n| n.is_named() && n.kind() != "comment");
        match (left.kind(), right.kind()) {
            ("identifier", _) => vec![(left, right)],
            ("pattern_list" | "tuple_pattern", "expression_list" | "tuple") => {
                let (targets, values): (Vec<_>, Vec<_>) =
                    (named(left).collect(), named(right).collect());
                if targets.len() == values.len() {
                    targets.into_iter().zip(values).collect()
                } else {
                    Vec::new()
                }
            }
            _ => Vec::new(),
        }
    }
}

/// The value of an integer literal; `None` for anything else.
pub fn integer(source: &Source, node: Node<'_>) -> Option<i64> {
    (node.kind() == "integer").then(|| source.slice(node).replace('_', "").parse().ok())?
}
