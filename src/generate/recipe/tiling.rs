//! How a kernel uses a tile size: what a new value must satisfy for the kernel to stay right.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::addresses::{base_parameters, holds_whole_tiles};
use super::flow::Flow;
use crate::kernel::syntax::{
    Function, Source, callee, descendants, is_language_call, keywords, positional,
};

/// How a kernel uses one name as a tile size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TileUse {
    /// Indexes made from it are masked wherever memory is accessed through them.
    pub guarded: bool,
    /// The tile walks: it is a loop's step or a factor of a program's offset. One that does not
    /// walk has to cover its dimension at once, so it may only grow.
    pub walks: bool,
    /// A factor of an offset that depends on the program: the grid has to follow its value.
    pub in_grid: bool,
    /// The kernel has matrix products, whose operands are at least 16 wide.
    pub dot: bool,
    /// Expressions that it divides without a remainder, or the loops' ends it walks to.
    pub extents: BTreeSet<String>,
    /// Whether one of `extents` is divided by `//`, so that a remainder would be lost.
    pub exact: bool,
    /// Nothing in the kernel is made in its size but sums: descriptors that the host makes bring the tiles.
    pub boxed: bool,
    /// Shapes of tensors it takes part in, as written.
    pub shapes: Vec<Vec<String>>,
}

/// How `kernel` uses `name`; `None` if not as a tile size.
pub(super) fn tile_use(source: &Source, kernel: Function<'_>, name: &str) -> Option<TileUse> {
    tile_use_within(source, kernel, name, 3)
}

fn tile_use_within(
    source: &Source,
    kernel: Function<'_>,
    name: &str,
    depth: u8,
) -> Option<TileUse> {
    let body = kernel.body()?;
    let is_name = |node: Node<'_>| node.kind() == "identifier" && source.slice(node) == name;
    let names = |node: Node<'_>| descendants(node).any(is_name);
    let flow = Flow::of(source, kernel);
    let mut tile = TileUse { guarded: true, ..TileUse::default() };
    let mut shapes_index = false;
    let mut has_boxes = false;
    for node in descendants(body) {
        match node.kind() {
            "call" => {
                let arguments = positional(node);
                if is_language_call(source, node, "arange") {
                    shapes_index |= arguments.get(1).is_some_and(|end| is_name(*end));
                } else if is_language_call(source, node, "dot") {
                    tile.dot = true;
                } else if moves_a_box(source, kernel, node) {
                    has_boxes = true;
                } else if matches!(callee(source, node), Some("range" | "static_range")) {
                    if arguments.get(2).is_some_and(|step| is_name(*step)) {
                        tile.walks = true;
                        tile.extents.insert(source.slice(arguments[1]).to_owned());
                    }
                } else {
                    let shape = shape_of(source, node).filter(|shape| shape.contains(&name.into()));
                    shapes_index |= shape.is_some() && callee(source, node) != Some("zeros");
                    tile.shapes.extend(shape);
                    if depth > 0 {
                        shapes_index |= merge_helper(source, node, name, depth, &mut tile);
                    }
                }
            }
            "binary_operator" => {
                let side = |field| node.child_by_field_name(field);
                let (Some(left), Some(right)) = (side("left"), side("right")) else { continue };
                let operator = side("operator").map(|token| source.slice(token));
                match operator {
                    Some("*") if is_name(left) || is_name(right) => {
                        tile.walks = true;
                        tile.in_grid |= depends_on_program(source, &flow, node);
                    }
                    Some("//" | "%") if is_name(right) && !names(left) => {
                        tile.walks = true;
                        tile.exact = true;
                        tile.extents.insert(source.slice(left).to_owned());
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    tile.boxed = !shapes_index && has_boxes && tile.walks;
    if !shapes_index && !tile.boxed {
        return None;
    }
    tile.guarded &= accesses_are_guarded(source, &flow, body, name);
    Some(tile)
}

/// Whether a call loads or stores through a descriptor that the kernel is given.
fn moves_a_box(source: &Source, kernel: Function<'_>, call: Node<'_>) -> bool {
    let function = call.child_by_field_name("function");
    let object = function.and_then(|function| function.child_by_field_name("object"));
    matches!(callee(source, call), Some("load" | "store"))
        && object.is_some_and(|object| {
            kernel.parameters().iter().any(|parameter| parameter.name == source.slice(object))
        })
}

/// Takes over how a `@triton.jit` function that is called with `name` uses it; whether as a tile
/// size.
fn merge_helper(
    source: &Source,
    call: Node<'_>,
    name: &str,
    depth: u8,
    tile: &mut TileUse,
) -> bool {
    let function = call.child_by_field_name("function").filter(|f| f.kind() == "identifier");
    let named = function.map(|function| source.slice(function));
    let Some(helper) = named.and_then(|name| source.function(name)).filter(Function::is_jit) else {
        return false;
    };
    let parameters = helper.parameters();
    let by_position = positional(call)
        .into_iter()
        .zip(&parameters)
        .find(|(argument, _)| source.slice(*argument) == name)
        .map(|(_, parameter)| parameter.name);
    let by_name = keywords(source, call)
        .into_iter()
        .find(|keyword| source.slice(keyword.value) == name)
        .map(|keyword| keyword.name);
    let used = by_position.or(by_name).and_then(|p| tile_use_within(source, helper, p, depth - 1));
    if let Some(used) = &used {
        tile.guarded &= used.guarded;
        tile.dot |= used.dot;
        tile.walks |= used.walks;
        tile.in_grid |= used.in_grid;
        tile.exact |= used.exact;
        tile.extents.extend(used.extents.iter().cloned());
    }
    used.is_some()
}

/// The names in the shape that a call makes a tensor or a block pointer of.
fn shape_of(source: &Source, call: Node<'_>) -> Option<Vec<String>> {
    let shape = match callee(source, call)? {
        "zeros" | "full" => positional(call)
            .first()
            .copied()
            .or_else(|| keywords(source, call).iter().find(|k| k.name == "shape").map(|k| k.value)),
        "make_block_ptr" | "make_tensor_descriptor" => {
            keywords(source, call).iter().find(|k| k.name == "block_shape").map(|k| k.value)
        }
        _ => None,
    }?;
    let parts = crate::kernel::syntax::children(shape).filter(|node| node.is_named());
    Some(parts.map(|node| source.slice(node).to_owned()).collect())
}

/// Whether an expression depends on the program that evaluates it.
fn depends_on_program<'s>(source: &'s Source, flow: &Flow<'s>, expression: Node<'s>) -> bool {
    flow.reaches(expression, |node| is_language_call(source, node, "program_id"), |_| false)
}

/// Whether every load and store through an index of `tile` elements is masked by such an index.
///
/// An index taken modulo something wraps around and needs no mask, nor does a workspace that is
/// allocated in whole tiles. Names stand for all their
/// values here, so a mask counts if any of its values is one.
fn accesses_are_guarded<'s>(
    source: &'s Source,
    flow: &Flow<'s>,
    body: Node<'s>,
    tile: &str,
) -> bool {
    let index = |node: Node<'_>| {
        is_language_call(source, node, "arange")
            && positional(node).get(1).is_some_and(|end| source.slice(*end) == tile)
    };
    let wraps = |node: Node<'_>| {
        node.child_by_field_name("operator").is_some_and(|token| source.slice(token) == "%")
    };
    // What is loaded is no address, whatever address it was loaded from.
    let loaded = |node| is_language_call(source, node, "load");
    let whole_tiles = |pointer: Node<'s>| {
        let kernel = source.function_around(body)?;
        let bases = base_parameters(source, kernel, pointer)?;
        Some(bases.iter().all(|base| holds_whole_tiles(source, kernel, base, tile)))
    };
    let whole_tiles = |pointer| whole_tiles(pointer).unwrap_or(false);
    descendants(body)
        .filter(|node| {
            is_language_call(source, *node, "load") || is_language_call(source, *node, "store")
        })
        .all(|access| {
            let arguments = positional(access);
            let keywords = keywords(source, access);
            if keywords.iter().any(|keyword| keyword.name == "boundary_check") {
                return true;
            }
            let Some(pointer) = arguments.first() else { return false };
            if !flow.reaches(*pointer, index, |node| wraps(node) || loaded(node)) {
                return true;
            }
            let position = if is_language_call(source, access, "store") { 2 } else { 1 };
            let named = keywords.iter().find(|keyword| keyword.name == "mask").map(|k| k.value);
            let mask = named.or_else(|| arguments.get(position).copied());
            mask.is_some_and(|mask| flow.reaches(mask, index, loaded)) || whole_tiles(*pointer)
        })
}
