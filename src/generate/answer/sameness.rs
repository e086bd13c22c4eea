//! Whether two pieces of Python say the same.

use tree_sitter::Node;

use crate::kernel::syntax::Source;

/// Whether `a` and `b` differ in comments, blank lines and spacing only.
pub(super) fn same(a: &Source, b: &Source) -> bool {
    tokens(a, a.root()).eq(tokens(b, b.root()))
}

/// As [`same`], of two nodes.
pub(super) fn same_nodes(a: (&Source, Node<'_>), b: (&Source, Node<'_>)) -> bool {
    tokens(a.0, a.1).eq(tokens(b.0, b.1))
}

/// Depth and kind of all nodes from `node` on, and the texts of the leaves; comments are left out. The
/// depth keeps apart what only indentation tells apart.
fn tokens<'s>(source: &'s Source, node: Node<'s>) -> impl Iterator<Item = (u32, u16, &'s str)> {
    let mut cursor = node.walk();
    let mut more = true;
    std::iter::from_fn(move || {
        let here = more.then(|| (cursor.depth(), cursor.node()))?;
        more = cursor.goto_first_child()
            || loop {
                if cursor.goto_next_sibling() {
                    break true;
                }
                if !cursor.goto_parent() {
                    break false;
                }
            };
        Some(here)
    })
    .filter(|(_, node)| node.kind() != "comment")
    .map(|(depth, node)| {
        let leaf = node.child_count() == 0;
        (depth, node.kind_id(), if leaf { source.slice(node) } else { "" })
    })
}
