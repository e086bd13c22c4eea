//! Names that stand for one integer: `BLOCK_M = 16`, `BLOCK_M, BLOCK_N = 64, 32`.

use tree_sitter::Node;

use super::{Function, Source, children, descendants};

/// A name with an integer literal that is assigned to it.
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
    /// The constant that `name` stands for in `host`: its own, else the module's. It is assigned once.
    pub fn constant<'s>(&'s self, name: &str, host: Option<Function<'s>>) -> Option<Constant<'s>> {
        if let Some(function) = host {
            let own = function.parameters().iter().any(|parameter| parameter.name == name);
            if own || self.bindings(function.node(), Some(function), name).next().is_some() {
                return self.constant_in(name, Some(function));
            }
        }
        self.constant_in(name, None)
    }

    fn constant_in<'s>(&'s self, name: &str, scope: Option<Function<'s>>) -> Option<Constant<'s>> {
        let root = scope.map_or_else(|| self.root(), |function| function.node());
        if scope.is_some_and(|function| function.parameters().iter().any(|p| p.name == name))
            || self.bindings(root, scope, name).count() != 1
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

    /// The numbers that `name` may stand for at `at`, a node in `host`: those of the last assignment that
    /// is certain to have happened there, and of the ones since that may have (in branches, in both arms
    /// of a conditional expression). Values that are no literals are left out. None where a name is bound
    /// otherwise than by assignments, or goes round a loop.
    pub fn numbers<'s>(
        &'s self,
        name: &str,
        host: Option<Function<'s>>,
        at: Node<'s>,
    ) -> Vec<Constant<'s>> {
        if let Some(only) = self.constant(name, host) {
            return vec![only];
        }
        let Some(function) = host else { return Vec::new() };
        if function.parameters().iter().any(|parameter| parameter.name == name) {
            return Vec::new();
        }
        let bindings: Vec<Node<'s>> =
            self.bindings(function.node(), Some(function), name).collect();
        let (before, after): (Vec<_>, Vec<_>) =
            bindings.into_iter().partition(|it| it.end_byte() <= at.start_byte());
        let certain = |it: &Node<'s>| block_of(*it).is_some_and(|block| contains(block, at));
        let first = before.iter().rposition(certain).unwrap_or(0);
        let before: Vec<Node<'s>> =
            before.into_iter().skip(first).filter(|it| may_reach(*it, at)).collect();
        let goes_round =
            enclosing_loop(at).is_some_and(|l| after.iter().any(|it| contains(l, *it)));
        if goes_round || before.iter().any(|it| it.kind() != "assignment") {
            return Vec::new();
        }
        let mut found = Vec::new();
        for assignment in before {
            let side = |field| assignment.child_by_field_name(field);
            if let (Some(left), Some(right)) = (side("left"), side("right")) {
                self.possible(left, right, name, DEPTH, &mut |target, literal| {
                    if let Some(value) = integer(self, literal) {
                        found.push(Constant { name: target, value, literal, scope: host });
                    }
                });
            }
        }
        found
    }

    /// The number literals that `value`, an expression of `host`, may come down to: itself, arms of a
    /// conditional expression, what is assigned to a name ([`Self::numbers`]).
    pub fn literals<'s>(&'s self, value: Node<'s>, host: Option<Function<'s>>) -> Vec<Node<'s>> {
        self.literals_within(value, host, DEPTH)
    }

    fn literals_within<'s>(
        &'s self,
        value: Node<'s>,
        host: Option<Function<'s>>,
        depth: u8,
    ) -> Vec<Node<'s>> {
        let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
        match value.kind() {
            "integer" => vec![value],
            "identifier" => {
                let numbers = self.numbers(self.slice(value), host, value);
                numbers.into_iter().map(|number| number.literal).collect()
            }
            "parenthesized_expression" => {
                named(value).flat_map(|it| self.literals_within(it, host, depth)).collect()
            }
            "conditional_expression" => {
                let arms = named(value).step_by(2);
                arms.flat_map(|it| self.literals_within(it, host, depth)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Tells `tell` every value that `left = right` may give `name`: tuples are taken apart, and both arms
    /// of a conditional expression taken.
    fn possible<'s>(
        &'s self,
        left: Node<'s>,
        right: Node<'s>,
        name: &str,
        depth: u8,
        tell: &mut dyn FnMut(&'s str, Node<'s>),
    ) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match (left.kind(), right.kind()) {
            (_, "parenthesized_expression") => {
                named(right).for_each(|inner| self.possible(left, inner, name, depth, tell));
            }
            // value, condition, other value
            (_, "conditional_expression") => {
                named(right).step_by(2).for_each(|arm| self.possible(left, arm, name, depth, tell));
            }
            ("identifier", _) if self.slice(left) == name => tell(self.slice(left), right),
            ("pattern_list" | "tuple_pattern", "expression_list" | "tuple")
                if named(left).count() == named(right).count() =>
            {
                for (target, value) in named(left).zip(named(right)) {
                    self.possible(target, value, name, depth, tell);
                }
            }
            _ => {}
        }
    }

    /// What binds `name` within `root` in `scope`: assignments, augmented ones, loops.
    fn bindings<'s>(
        &'s self,
        root: Node<'s>,
        scope: Option<Function<'s>>,
        name: &str,
    ) -> impl Iterator<Item = Node<'s>> {
        descendants(root).filter(move |node| {
            let field = match node.kind() {
                "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => "left",
                "named_expression" => "name",
                _ => return false,
            };
            let left = node.child_by_field_name(field);
            left.is_some_and(|left| {
                descendants(left).any(|n| n.kind() == "identifier" && self.slice(n) == name)
            }) && self.scope_of(*node) == scope.map(|function| function.node())
        })
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

/// Expressions within expressions that are followed: sources are not ours, and may be nested without end.
const DEPTH: u8 = 16;

fn named(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    children(node).filter(|child| child.is_named() && child.kind() != "comment")
}

fn contains(outer: Node<'_>, inner: Node<'_>) -> bool {
    outer.start_byte() <= inner.start_byte() && inner.end_byte() <= outer.end_byte()
}

fn ancestors(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(node.parent(), Node::parent)
}

/// The block of statements that a statement stands in.
fn block_of(node: Node<'_>) -> Option<Node<'_>> {
    ancestors(node).find(|outer| matches!(outer.kind(), "block" | "module"))
}

/// The outermost loop around a node, in its function.
fn enclosing_loop(node: Node<'_>) -> Option<Node<'_>> {
    ancestors(node)
        .take_while(|outer| outer.kind() != "function_definition")
        .filter(|outer| matches!(outer.kind(), "for_statement" | "while_statement"))
        .last()
}

/// Whether what a statement before `at` does may still hold there: not, where its branch leaves the
/// function, or is one of several of which `at` stands in another.
fn may_reach(statement: Node<'_>, at: Node<'_>) -> bool {
    let mut inner = statement;
    while let Some(block) = block_of(inner) {
        if contains(block, at) {
            return true;
        }
        let last = named(block).last();
        if last.is_some_and(|it| matches!(it.kind(), "return_statement" | "raise_statement")) {
            return false;
        }
        let choice = ancestors(block).find(|outer| outer.kind() == "if_statement");
        let Some(parent) = block.parent() else { return true };
        let of_choice = matches!(parent.kind(), "if_statement" | "elif_clause" | "else_clause");
        if of_choice && choice.is_some_and(|choice| contains(choice, at)) {
            return false;
        }
        inner = parent;
    }
    true
}

/// The value of an integer literal; `None` for anything else.
pub fn integer(source: &Source, node: Node<'_>) -> Option<i64> {
    (node.kind() == "integer").then(|| source.slice(node).replace('_', "").parse().ok())?
}
