//! `hint contiguous cols`: says of an index what the compiler may not see by itself.
//!
//! Only what is true by its definition is said: `start * BLOCK + tl.arange(0, BLOCK)` begins at
//! a multiple of `BLOCK` and counts up by one for `BLOCK` elements; so does `start + tl.arange(0,
//! BLOCK)` where `start` runs over `range(0, …, BLOCK)`.

use tree_sitter::Node;

use super::counted_loop::{CountedLoop, counted_loops, has_tl};
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb, flow::Flow};
use crate::kernel::syntax::{
    Edit, Function, Source, descendants, integer, is_language_call, positional,
};

pub(super) struct Hint;

/// A definition `index = start + tl.arange(0, tile)` with a start that is a multiple of the tile.
struct Index<'s> {
    axis: String,
    kernel: Function<'s>,
    value: Node<'s>,
    tile: &'s str,
}

impl Verb for Hint {
    fn name(&self) -> &'static str {
        "hint"
    }

    fn summary(&self) -> &'static str {
        "tell the compiler that an index is aligned and contiguous (tl.multiple_of, tl.max_contiguous)"
    }

    fn syntax(&self) -> &'static str {
        "hint contiguous INDEX[#N]"
    }

    fn interpreted(&self) -> bool {
        false
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        let place = |index: Index<'_>| Place {
            line: source.line(index.value),
            what: format!("the index {} of {}", index.axis, index.kernel.name()),
            current: None,
            steps: vec![Step::new("hint").word("contiguous").word(&index.axis)],
            axis: index.axis,
        };
        indices(source).into_iter().map(place).collect()
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let Some(["contiguous", name]) =
            step.bare().and_then(|words| <[&str; 2]>::try_from(words).ok())
        else {
            return Err(step.grammar(self, "the only hint is `contiguous`, for an index"));
        };
        let indices = indices(source);
        let named = |index: &&Index<'_>| {
            index.axis == name || name.strip_suffix("#1") == Some(index.axis.as_str())
        };
        let Some(index) = indices.iter().find(named) else {
            let reason = format!(
                "`{name}` is not defined as a multiple of a tile size plus tl.arange over it"
            );
            return Err(step.inapplicable(reason, indices.into_iter().map(|i| i.axis).collect()));
        };
        let span = index.value.byte_range();
        let tile = index.tile;
        Ok(vec![
            Edit::insert(span.start, "tl.max_contiguous(tl.multiple_of("),
            Edit::insert(span.end, format!(", {tile}), {tile})")),
        ])
    }
}

fn indices(source: &Source) -> Vec<Index<'_>> {
    let mut found: Vec<(Index<'_>, &str)> = Vec::new();
    if !has_tl(source) {
        return Vec::new();
    }
    for kernel in source.kernels() {
        for node in kernel.body().into_iter().flat_map(descendants) {
            let target = node.child_by_field_name("left").filter(|n| n.kind() == "identifier");
            let value = node.child_by_field_name("right").filter(|_| node.kind() == "assignment");
            let (Some(target), Some(value)) = (target, value) else { continue };
            let Some(tile) = tile_of(source, kernel, value) else { continue };
            let name = source.slice(target);
            let earlier = found.iter().filter(|(_, known)| *known == name).count();
            let axis =
                if earlier == 0 { name.to_owned() } else { format!("{name}#{}", earlier + 1) };
            found.push((Index { axis, kernel, value, tile }, name));
        }
    }
    found.into_iter().map(|(index, _)| index).collect()
}

/// The tile of `start + tl.arange(0, tile)` where `start` is a multiple of it.
fn tile_of<'s>(source: &'s Source, kernel: Function<'s>, value: Node<'s>) -> Option<&'s str> {
    let (operator, left, right) = binary(source, value)?;
    if operator != "+" || !is_language_call(source, right, "arange") {
        return None;
    }
    let [from, to] = <[Node<'_>; 2]>::try_from(positional(right)).ok()?;
    if integer(source, from) != Some(0) || to.kind() != "identifier" {
        return None;
    }
    let tile = source.slice(to);
    // The attributes take what is known when the kernel is compiled.
    kernel.parameters().iter().find(|p| p.name == tile && p.is_constexpr())?;
    (is_multiple(source, left, tile) || walks_by(source, kernel, left, tile)).then_some(tile)
}

fn binary<'s>(source: &'s Source, node: Node<'s>) -> Option<(&'s str, Node<'s>, Node<'s>)> {
    (node.kind() == "binary_operator").then_some(())?;
    let operator = source.slice(node.child_by_field_name("operator")?);
    Some((operator, node.child_by_field_name("left")?, node.child_by_field_name("right")?))
}

/// A product with the tile as a factor.
fn is_multiple(source: &Source, node: Node<'_>, tile: &str) -> bool {
    binary(source, node).is_some_and(|(operator, left, right)| {
        operator == "*" && (source.slice(left) == tile || source.slice(right) == tile)
    })
}

/// A variable of a loop from 0 by the tile, bound nowhere else in the kernel.
fn walks_by(source: &Source, kernel: Function<'_>, node: Node<'_>, tile: &str) -> bool {
    let variable = source.slice(node);
    let flow = Flow::of(source, kernel);
    let loops = counted_loops(source);
    let own = loops.iter().filter(|counted| {
        let bound = counted.node.child_by_field_name("left").map(|left| source.slice(left));
        counted.kernel.name() == kernel.name() && bound == Some(variable)
    });
    let own: Vec<&CountedLoop<'_>> = own.collect();
    let steps = |counted: &&CountedLoop<'_>| {
        let bounds = positional(counted.range);
        bounds.len() == 3
            && integer(source, bounds[0]) == Some(0)
            && source.slice(bounds[2]) == tile
    };
    node.kind() == "identifier"
        && flow.definitions(variable).is_empty()
        && !own.is_empty()
        && own.iter().all(steps)
}

#[cfg(test)]
mod tests;
