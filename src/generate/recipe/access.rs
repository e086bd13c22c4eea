//! Loads and stores of a kernel, by the pointer argument that they go through.

use tree_sitter::Node;

use super::flow::Flow;
use crate::kernel::syntax::{
    Function, Source, descendants, is_language_call, keywords, positional,
};

/// A `tl.load` or `tl.store`.
pub(super) struct Access<'s> {
    pub call: Node<'s>,
    pub kernel: Function<'s>,
    /// The parameter of the kernel that its address is computed from.
    pub pointer: &'s str,
    /// Which one it is among the kernel's accesses through that pointer, from 1.
    pub ordinal: usize,
    pub is_load: bool,
}

/// The accesses whose pointer argument is known, in source order.
pub(super) fn accesses(source: &Source) -> Vec<Access<'_>> {
    let mut found: Vec<Access<'_>> = Vec::new();
    for kernel in source.kernels() {
        let flow = Flow::of(source, kernel);
        for call in kernel.body().into_iter().flat_map(descendants) {
            let is_load = is_language_call(source, call, "load");
            if !is_load && !is_language_call(source, call, "store") {
                continue;
            }
            let address = positional(call).first().copied();
            let base = address.and_then(|address| base(source, kernel, &flow, address, 8));
            let Some(pointer) = base else { continue };
            let same = |a: &&Access<'_>| a.pointer == pointer && a.kernel.name() == kernel.name();
            let ordinal = found.iter().filter(same).count() + 1;
            found.push(Access { call, kernel, pointer, ordinal, is_load });
        }
    }
    found
}

/// The accesses that `name` means: `x_ptr` all through that pointer, `x_ptr#2` the second one,
/// either after `kernel.` for one kernel only.
pub(super) fn named<'a, 's>(accesses: &'a [Access<'s>], name: &str) -> Vec<&'a Access<'s>> {
    let (path, ordinal) = match name.split_once('#') {
        Some((path, ordinal)) => (path, Some(ordinal)),
        None => (name, None),
    };
    let (kernel, pointer) = match path.split_once('.') {
        Some((kernel, pointer)) => (Some(kernel), pointer),
        None => (None, path),
    };
    accesses
        .iter()
        .filter(|access| {
            access.pointer == pointer
                && kernel.is_none_or(|kernel| access.kernel.name() == kernel)
                && ordinal.is_none_or(|ordinal| access.ordinal.to_string() == ordinal)
        })
        .collect()
}

/// The names under which accesses can be meant, each with its accesses: first every pointer as a
/// whole, then single accesses of those that have several.
pub(super) fn groups<'a, 's>(accesses: &'a [Access<'s>]) -> Vec<(String, Vec<&'a Access<'s>>)> {
    let mut names: Vec<String> = Vec::new();
    let qualified = |access: &Access<'_>| {
        let elsewhere = |other: &Access<'_>| {
            other.pointer == access.pointer && other.kernel.name() != access.kernel.name()
        };
        if accesses.iter().any(elsewhere) {
            format!("{}.{}", access.kernel.name(), access.pointer)
        } else {
            access.pointer.to_owned()
        }
    };
    for access in accesses {
        let name = qualified(access);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let whole = names.iter().map(|name| (name.clone(), named(accesses, name)));
    let (whole, mut single): (Vec<_>, Vec<_>) = (whole.collect(), Vec::new());
    for (name, group) in whole.iter().filter(|(_, group)| group.len() > 1) {
        let one = |access: &&'a Access<'s>| (format!("{name}#{}", access.ordinal), vec![*access]);
        single.extend(group.iter().map(one));
    }
    whole.into_iter().chain(single).collect()
}

/// The value of a keyword of an access that is a string literal, without its quotes.
pub(super) fn text_keyword<'s>(source: &'s Source, call: Node<'s>, name: &str) -> Option<&'s str> {
    let keyword = keywords(source, call).into_iter().find(|keyword| keyword.name == name)?;
    Some(source.slice(keyword.value).trim_matches(['"', '\'']))
}

/// The pointer parameter that an address is computed from: the leftmost term of the sum that is
/// one, names resolved.
fn base<'s>(
    source: &'s Source,
    kernel: Function<'s>,
    flow: &Flow<'s>,
    address: Node<'s>,
    depth: u8,
) -> Option<&'s str> {
    let depth = depth.checked_sub(1)?;
    let go = |node| base(source, kernel, flow, node, depth);
    match address.kind() {
        "identifier" => {
            let name = source.slice(address);
            let is_pointer =
                |p: &crate::kernel::syntax::Parameter<'_>| p.name == name && !p.is_constexpr();
            let parameter = || kernel.parameters().iter().find(|p| is_pointer(p)).map(|p| p.name);
            // A parameter that is advanced (`x_ptr = x_ptr + …`) leads back to itself.
            flow.definitions(name).iter().find_map(|value| go(*value)).or_else(parameter)
        }
        "parenthesized_expression" => go(address.named_child(0)?),
        "binary_operator" => {
            let operator = source.slice(address.child_by_field_name("operator")?);
            let (left, right) =
                (address.child_by_field_name("left")?, address.child_by_field_name("right")?);
            // A product is an offset, whatever stands in it.
            matches!(operator, "+" | "-").then(|| go(left).or_else(|| go(right)))?
        }
        "call" => {
            let passes = ["make_block_ptr", "advance", "multiple_of", "max_contiguous"];
            let named = keywords(source, address).into_iter().find(|k| k.name == "base");
            let first = named.map(|k| k.value).or_else(|| positional(address).first().copied())?;
            passes.iter().any(|name| is_language_call(source, address, name)).then(|| go(first))?
        }
        _ => None,
    }
}
