//! Where a kernel asks which program it is.

use tree_sitter::Node;

use crate::kernel::syntax::{
    Function, Source, callee, descendants, is_language_call, keywords, positional,
};

/// The axis of a call of `tl.program_id` or `tl.num_programs`; `Some(None)` when it cannot be read.
pub(super) fn program_axis(source: &Source, node: Node<'_>) -> Option<Option<usize>> {
    if !is_language_call(source, node, "program_id")
        && !is_language_call(source, node, "num_programs")
    {
        return None;
    }
    let named = keywords(source, node).into_iter().find(|it| it.name == "axis").map(|it| it.value);
    let axis = named.or_else(|| positional(node).first().copied());
    Some(axis.and_then(|axis| source.slice(axis).parse().ok()))
}

/// Whether a kernel of the source that `kernel` calls asks for program numbers.
pub(super) fn helpers_ask(source: &Source, kernel: Function<'_>) -> bool {
    let calls = |name: &str| {
        descendants(kernel.node())
            .any(|node| node.kind() == "call" && callee(source, node) == Some(name))
    };
    let asks = |helper: &Function<'_>| {
        descendants(helper.node()).any(|node| program_axis(source, node).is_some())
    };
    source.kernels().iter().any(|helper| asks(helper) && calls(helper.name()))
}
