//! `[triton.Config({"BK": BK}, num_warps=warps) for BK in [32, 64] for warps in [4, 8]]`: what such a
//! list comes to.

use std::collections::HashSet;

use tree_sitter::Node;

use super::Config;
use crate::kernel::syntax::{Source, children, descendants};

/// An autotuner with more than these takes minutes for one call.
const MOST: usize = 256;

/// Names, conditions and sums within each other that are followed.
const DEPTH: u8 = 8;

/// A loop of the comprehension: its variable, and the number literals that it runs over.
struct Clause<'s> {
    variable: &'s str,
    values: Vec<Node<'s>>,
}

/// The configurations in the order in which Python makes them. `None` where one depends on more than
/// numbers that are written out: on conditions, calls or arithmetic with a loop's variable.
pub(super) fn expand<'s>(source: &'s Source, comprehension: Node<'s>) -> Option<Vec<Config<'s>>> {
    let body = comprehension.child_by_field_name("body")?;
    let template = Config::read(source, body)?;
    let clauses = children(comprehension)
        .filter(|node| node.is_named() && node.kind() != "comment" && node.id() != body.id())
        .map(|node| Clause::read(source, node))
        .collect::<Option<Vec<_>>>()?;
    let is_variable = |name: &str| clauses.iter().any(|clause| clause.variable == name);
    // Of two loops with the same variable Python takes the inner one's value.
    let mut names = HashSet::new();
    if !clauses.iter().all(|clause| names.insert(clause.variable)) {
        return None;
    }
    let mut settings: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
    for clause in &clauses {
        settings = settings
            .into_iter()
            .flat_map(|setting| {
                clause.values.iter().map(move |value| {
                    let own = (clause.variable, source.slice(*value));
                    setting.iter().copied().chain([own]).collect()
                })
            })
            .take(MOST + 1)
            .collect();
    }
    let values = || template.meta.iter().chain(&template.options).map(|(_, value)| *value);
    let whole = values().filter(|value| is_variable(value)).count();
    let mentions = descendants(body).filter(|node| {
        node.kind() == "identifier" && is_variable(source.slice(*node)) && !names_argument(*node)
    });
    if settings.len() > MOST || mentions.count() != whole {
        return None;
    }
    Some(settings.iter().map(|setting| template.with(setting)).collect())
}

impl<'s> Clause<'s> {
    fn read(source: &'s Source, node: Node<'s>) -> Option<Self> {
        let variable = node.child_by_field_name("left").filter(|it| it.kind() == "identifier")?;
        let plain =
            node.kind() == "for_in_clause" && !children(node).any(|it| it.kind() == "async");
        let values =
            plain.then(|| numbers(source, node.child_by_field_name("right")?, DEPTH))??;
        Some(Self { variable: source.slice(variable), values })
    }
}

/// The number literals of a list: written out, joined by `+`, in both arms of a condition (what is right
/// on one device is worth trying on another), or under a name that the module gives once.
fn numbers<'s>(source: &'s Source, list: Node<'s>, depth: u8) -> Option<Vec<Node<'s>>> {
    let depth = depth.checked_sub(1)?;
    let several = |nodes: &mut dyn Iterator<Item = Node<'s>>| {
        let mut all: Vec<Node<'s>> = Vec::new();
        for node in nodes {
            for number in numbers(source, node, depth)? {
                if !all.iter().any(|known| source.slice(*known) == source.slice(number)) {
                    all.push(number);
                }
            }
        }
        Some(all)
    };
    let mut parts = children(list).filter(|node| node.is_named() && node.kind() != "comment");
    match list.kind() {
        "list" | "tuple" => parts.map(|it| (it.kind() == "integer").then_some(it)).collect(),
        "parenthesized_expression" => several(&mut parts),
        "binary_operator" => {
            let joined = list.child_by_field_name("operator").map(|it| source.slice(it));
            joined.filter(|operator| *operator == "+").and_then(|_| several(&mut parts))
        }
        // one value, the condition, the other value
        "conditional_expression" => several(&mut parts.step_by(2)),
        "identifier" => numbers(source, given_once(source, source.slice(list))?, depth),
        _ => None,
    }
}

/// What the module's only assignment of `name` gives it.
fn given_once<'s>(source: &'s Source, name: &str) -> Option<Node<'s>> {
    let is_name = |node: &Node<'s>| node.kind() == "identifier" && source.slice(*node) == name;
    let mut given = descendants(source.root()).filter(|node| {
        let left = node.child_by_field_name("left");
        matches!(node.kind(), "assignment" | "augmented_assignment")
            && left.is_some_and(|left| descendants(left).any(|it| is_name(&it)))
    });
    let (Some(only), None) = (given.next(), given.next()) else { return None };
    let of_module = only.parent()?.parent()? == source.root();
    let whole = only.child_by_field_name("left").filter(is_name).is_some();
    let right = only.child_by_field_name("right")?;
    (only.kind() == "assignment" && of_module && whole).then_some(right)
}

/// Whether `node` is the name in `name=value`.
fn names_argument(node: Node<'_>) -> bool {
    let argument = node.parent().filter(|parent| parent.kind() == "keyword_argument");
    argument.and_then(|it| it.child_by_field_name("name")).is_some_and(|name| name == node)
}
