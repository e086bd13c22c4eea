//! `swizzle group=8`: another order of the programs of a two-dimensional grid.
//!
//! Programs start in the order of their numbers, the first axis fastest. Tiles that share rows or
//! columns of their inputs then lie far apart in time, and what one has read is gone from the
//! cache when the next wants it. Regrouped, `group` tiles along the first axis are walked
//! together before the next along the second; a group of one walks the second axis fastest.
//! The launch stays as it is, and every grid is covered: the last group may be smaller.

use std::collections::HashSet;

use tree_sitter::Node;

use super::programs::{helpers_ask, program_axis};
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb, Word};
use crate::kernel::syntax::{
    Edit, Function, Source, children, descendants, integer, is_language_call,
};

pub(super) struct Swizzle;

/// Tiles of the first axis that are walked together: worth trying, the most usual first.
const WORTH: [i64; 5] = [8, 4, 16, 1, 2];

/// The size of the group, in a kernel.
const GROUP: &str = "SWIZZLE_GROUP";

impl Verb for Swizzle {
    fn name(&self) -> &'static str {
        "swizzle"
    }

    fn summary(&self) -> &'static str {
        "walk the programs of a two-dimensional grid in groups that share inputs"
    }

    fn syntax(&self) -> &'static str {
        "swizzle group=COUNT [KERNEL]"
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        let orders: Vec<Order<'_>> =
            source.kernels().into_iter().filter_map(|it| Order::of(source, it).ok()).collect();
        let alone = orders.len() == 1;
        let place = |order: &Order<'_>| {
            let name = order.kernel.name();
            let current = order.current(source);
            let step = |group: &i64| {
                let step = Step::new(self.name()).set("group", group);
                if alone { step } else { step.word(name) }
            };
            Place {
                line: source.line(order.kernel.node()),
                what: format!("the order of the programs of {name}"),
                axis: name.to_owned(),
                current: current.map(|group| format!("group={group}")),
                steps: WORTH.iter().filter(|it| Some(**it) != current).map(step).collect(),
            }
        };
        orders.iter().map(place).collect()
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let (group, wanted) = match step.words.as_slice() {
            [Word::Assign { name, value }] if name == "group" => (value, None),
            [Word::Assign { name, value }, Word::Bare(kernel)] if name == "group" => {
                (value, Some(kernel))
            }
            _ => return Err(step.grammar(self, "it takes a group and perhaps a kernel's name")),
        };
        let Some(group) = group.parse::<i64>().ok().filter(|group| (1..=1024).contains(group))
        else {
            let reason = format!("`{group}` is not a number of tiles from 1 to 1024");
            return Err(step.inapplicable(reason, WORTH.map(|it| it.to_string()).into()));
        };
        let mut kernels = source.kernels();
        kernels.retain(|kernel| wanted.is_none_or(|name| kernel.name() == name));
        let (mut fit, mut reasons) = (Vec::new(), Vec::new());
        for kernel in kernels {
            match Order::of(source, kernel) {
                Ok(order) => fit.push(order),
                Err(reason) => reasons.push(format!("{}: {reason}", kernel.name())),
            }
        }
        match fit.as_slice() {
            [order] => Ok(order.edits(source, group)),
            [] if reasons.is_empty() => {
                Err(step.inapplicable("there is no such kernel", Vec::new()))
            }
            [] => Err(step.inapplicable(reasons.join("; "), Vec::new())),
            several => {
                let steps =
                    several.iter().map(|it| format!("swizzle group={group} {}", it.kernel.name()));
                let reason = "several kernels have a two-dimensional grid";
                Err(step.inapplicable(reason, steps.collect()))
            }
        }
    }
}

/// How a kernel finds its place in the grid.
struct Order<'s> {
    kernel: Function<'s>,
    /// The calls of `tl.program_id` for the first two axes, with the axis.
    asks: Vec<(Node<'s>, usize)>,
    /// The size of the group, where the programs have been regrouped.
    group: Option<Node<'s>>,
    /// The first statement that is not the docstring.
    first: Node<'s>,
}

impl<'s> Order<'s> {
    fn of(source: &'s Source, kernel: Function<'s>) -> Result<Self, String> {
        let body = kernel.body().ok_or("it has no body")?;
        let mut statements = children(body).filter(|it| it.is_named() && it.kind() != "comment");
        let is_docstring =
            |it: &Node<'_>| it.named_child(0).is_some_and(|it| it.kind() == "string");
        let first = statements.find(|it| !is_docstring(it)).ok_or("it does nothing")?;
        let group = descendants(body)
            .filter(|node| node.kind() == "assignment")
            .filter(|node| {
                node.child_by_field_name("left").is_some_and(|it| source.slice(it) == GROUP)
            })
            .find_map(|node| node.child_by_field_name("right"))
            .filter(|value| integer(source, *value).is_some());
        let mut asks = Vec::new();
        for node in descendants(body) {
            match program_axis(source, node) {
                Some(None) => return Err(format!("`{}` cannot be read", source.slice(node))),
                Some(Some(axis)) if axis < 2 && is_language_call(source, node, "program_id") => {
                    asks.push((node, axis));
                }
                _ => {}
            }
        }
        if !(0..2).all(|axis| asks.iter().any(|(_, it)| *it == axis)) {
            return Err("it does not use the first two axes of its grid".to_owned());
        }
        if helpers_ask(source, kernel) {
            return Err("a function that it calls asks for program numbers".to_owned());
        }
        Ok(Self { kernel, asks, group, first })
    }

    fn current(&self, source: &Source) -> Option<i64> {
        integer(source, self.group?)
    }

    fn edits(&self, source: &Source, group: i64) -> Vec<Edit> {
        if let Some(literal) = self.group {
            return vec![Edit::replace(literal.byte_range(), group.to_string())];
        }
        let taken: HashSet<&str> = descendants(self.kernel.node())
            .filter(|node| node.kind() == "identifier")
            .map(|node| source.slice(node))
            .collect();
        let fresh = |base: &str| {
            let numbered = (2..).map(|number| format!("{base}_{number}"));
            let mut names = std::iter::once(base.to_owned()).chain(numbered);
            names.find(|name| !taken.contains(name.as_str())).unwrap_or_default()
        };
        let [order, band, first, height] =
            ["order", "band", "band_first", "band_height"].map(fresh);
        let places = ["program_0", "program_1"].map(fresh);
        let [row, column] = &places;
        let lines = [
            format!("{GROUP}: tl.constexpr = {group}"),
            format!("{order} = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)"),
            format!("{band} = {GROUP} * tl.num_programs(1)"),
            format!("{first} = {order} // {band} * {GROUP}"),
            format!("{height} = tl.minimum(tl.num_programs(0) - {first}, {GROUP})"),
            format!("{row} = {first} + {order} % {band} % {height}"),
            format!("{column} = {order} % {band} // {height}"),
        ];
        let column_of_first = self.first.start_position().column;
        let start = self.first.start_byte();
        let indent = source.text().get(start - column_of_first..start).unwrap_or_default();
        let newline = if source.text().contains("\r\n") { "\r\n" } else { "\n" };
        let text: String = lines.iter().map(|line| format!("{line}{newline}{indent}")).collect();
        let mut edits = vec![Edit::insert(start, text)];
        let renamed = self.asks.iter().filter_map(|(node, axis)| {
            Some(Edit::replace(node.byte_range(), places.get(*axis)?.clone()))
        });
        edits.extend(renamed);
        edits
    }
}

#[cfg(test)]
mod tests;
