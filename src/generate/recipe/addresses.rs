//! Where a kernel's addresses come from.

use std::collections::HashSet;

use tree_sitter::Node;

use crate::kernel::syntax::{Function, Launch, Source, callee, children, descendants, positional};

/// The parameters that `address` may start from: the leftmost name, followed through whatever is
/// assigned to it. `None` when one of its values does not start from a parameter. Never empty.
pub(super) fn base_parameters<'s>(
    source: &'s Source,
    kernel: Function<'s>,
    address: Node<'s>,
) -> Option<Vec<&'s str>> {
    let parameters = kernel.parameters();
    let (mut found, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![address]);
    while let Some(address) = open.pop() {
        let name = leftmost_name(source, address)?;
        if !seen.insert(name) {
            continue;
        }
        let own = parameters.iter().find(|parameter| parameter.name == name);
        found.extend(own.map(|parameter| parameter.name));
        let values: Vec<Node<'_>> = descendants(kernel.node())
            .filter(|node| node.kind() == "assignment")
            .filter(|node| {
                node.child_by_field_name("left").is_some_and(|it| source.slice(it) == name)
            })
            .filter_map(|node| node.child_by_field_name("right"))
            .collect();
        if own.is_none() && values.is_empty() {
            return None;
        }
        open.extend(values);
    }
    (!found.is_empty()).then_some(found)
}

/// Whether every launch of `kernel` gives `pointer` a buffer that the host allocates with `tile`
/// as one of its extents: such a workspace holds whole tiles of any size, and needs no mask.
pub(super) fn holds_whole_tiles(
    source: &Source,
    kernel: Function<'_>,
    pointer: &str,
    tile: &str,
) -> bool {
    let launches: Vec<_> = source
        .launches()
        .into_iter()
        .filter(|launch| launch.kernel.name() == kernel.name())
        .collect();
    let allocates = |launch: &Launch<'_>| {
        let (Some(buffer), Some(tile), Some(host)) =
            (launch.binding(pointer), launch.binding(tile), launch.host)
        else {
            return false;
        };
        let (buffer, tile) = (source.slice(buffer), source.slice(tile));
        descendants(host.node()).filter(|node| node.kind() == "assignment").any(|node| {
            let side = |field| node.child_by_field_name(field);
            let (Some(left), Some(right)) = (side("left"), side("right")) else { return false };
            let shape = positional(right).first().copied();
            source.slice(left) == buffer
                && callee(source, right) == Some("empty")
                && shape.is_some_and(|it| children(it).any(|extent| source.slice(extent) == tile))
        })
    };
    !launches.is_empty() && launches.iter().all(allocates)
}

fn leftmost_name<'s>(source: &'s Source, address: Node<'s>) -> Option<&'s str> {
    let mut at = address;
    loop {
        at = match at.kind() {
            "binary_operator" => at.child_by_field_name("left")?,
            "parenthesized_expression" => at.named_child(0)?,
            "identifier" => return Some(source.slice(at)),
            _ => return None,
        };
    }
}
