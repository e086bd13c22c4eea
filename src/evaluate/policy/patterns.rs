//! The patterns of `match`: they read attributes without a dot (`case object(softmax=work)`), or
//! with one that is no expression (`case x.softmax`), and bind names.

use tree_sitter::Node;

use super::builtins::{reaches_behind, shortened};
use super::library::{objection, refuses_attribute};
use super::names::Names;
use super::{Finding, PolicyRules};
use crate::kernel::syntax::{children, descendants};

pub(super) fn find(names: &Names<'_>, rules: &PolicyRules, found: &mut Vec<Finding>) {
    let source = names.source();
    for case in descendants(source.root()).filter(|node| node.kind() == "case_pattern") {
        let outermost = case.parent().is_some_and(|it| it.kind() == "case_clause");
        for node in descendants(case).filter(|_| outermost) {
            let text = source.slice(node);
            let message = match node.kind() {
                // By position too: `__match_args__` names attributes.
                "class_pattern" => takes_attributes(node).then(|| {
                    format!(
                        "`{}` reads attributes by a pattern: write each of them out",
                        shortened(text)
                    )
                }),
                "dotted_name" => dotted(names, rules, node),
                "identifier" => captured(names, node),
                _ => None,
            };
            found.extend(message.map(|message| Finding {
                key: format!("case {text}"),
                line: source.line(node),
                message,
            }));
        }
    }
}

fn takes_attributes(class: Node<'_>) -> bool {
    children(class).filter(|it| it.is_named() && it.kind() != "comment").count() > 1
}

/// Why the value or the name `node` may not be in a pattern.
fn dotted(names: &Names<'_>, rules: &PolicyRules, node: Node<'_>) -> Option<String> {
    let text: String = names.source().slice(node).split_whitespace().collect();
    let (root, attributes) = text.split_once('.')?;
    let mut paths = names.imported(root).iter().map(|path| format!("{path}.{attributes}"));
    let imported = paths.find_map(|path| objection(&path, rules));
    imported.or_else(|| {
        let refused = |it: &&str| reaches_behind(it) || refuses_attribute(it);
        // Of torch's and triton's own the path has been looked at.
        let read =
            names.imported(root).is_empty().then(|| attributes.split('.').find(refused))??;
        Some(format!("reads the attribute {read} in a pattern, which may not be used"))
    })
}

/// A capture takes a name that the rest of the file reads as an import.
fn captured(names: &Names<'_>, node: Node<'_>) -> Option<String> {
    let name = names.source().slice(node);
    let parent = node.parent()?;
    let captures = match parent.kind() {
        "dotted_name" => {
            let class = parent.parent().is_some_and(|it| {
                it.kind() == "class_pattern" && it.named_child(0) == Some(parent)
            });
            parent.named_child_count() == 1 && !class
        }
        "splat_pattern" | "as_pattern" | "as_pattern_target" => true,
        _ => false,
    };
    (captures && !names.imported(name).is_empty())
        .then(|| format!("binds the imported name {name} anew"))
}
