//! Where only some symbols may change, everything else must stay as it was.

use std::collections::{BTreeMap, HashSet};

use tree_sitter::Node;

use super::builtins::shortened;
use super::names::Names;
use super::reject;
use crate::kernel::Rejection;
use crate::kernel::syntax::{Source, children, descendants};

/// The top level of a source.
struct TopLevel<'s> {
    /// The statements that bind a name, in order.
    symbols: BTreeMap<&'s str, Vec<Node<'s>>>,
    /// Statements that bind none: docstrings, conditions.
    others: Vec<Node<'s>>,
}

/// Checks that `after` differs from `before` only in the `editable` symbols, in new symbols that
/// nothing else uses, and in imports that were added.
pub(super) fn check(
    before: &Names<'_>,
    after: &Names<'_>,
    editable: &[String],
) -> Result<(), Rejection> {
    let (was, is) = (top_level(before.source()), top_level(after.source()));
    let may_change = |name: &str| editable.iter().any(|it| it == name);
    let only = editable.join(", ");
    for (name, old) in was.symbols.iter().filter(|(name, _)| !may_change(name)) {
        let new = is.symbols.get(name).map_or(&[][..], Vec::as_slice);
        if texts(before.source(), old) != texts(after.source(), new) {
            let what = if new.is_empty() { "removes" } else { "changes" };
            return Err(reject(format!("{what} {name}: only {only} may change"))
                .at_line(new.first().map(|node| after.source().line(*node))));
        }
    }
    if texts(before.source(), &was.others) != texts(after.source(), &is.others) {
        let unknown = |node: &&Node<'_>| {
            let text = after.source().slice(**node);
            !was.others.iter().any(|old| before.source().slice(*old) == text)
        };
        let new = is.others.iter().find(unknown);
        let shown = new.map_or_else(String::new, |node| {
            format!(" (`{}`)", shortened(after.source().slice(*node)))
        });
        return Err(reject(format!(
            "changes the statements outside of definitions{shown}: only {only} may change"
        ))
        .at_line(new.map(|node| after.source().line(*node))));
    }
    imports_stay(before, after)?;

    let fixed = names_in_use(before, &was, &may_change);
    for (name, nodes) in &is.symbols {
        if !was.symbols.contains_key(name) && !may_change(name) && fixed.contains(name) {
            let line = nodes.first().map(|node| after.source().line(*node));
            return Err(takes_over(name).at_line(line));
        }
    }
    for import in after.imports() {
        let bound = import.bound.filter(|name| before.imported(name).is_empty());
        if let Some(name) = bound.filter(|name| fixed.contains(name)) {
            return Err(takes_over(name).at_line(Some(after.source().line(import.node))));
        }
    }
    globals_stay(before.source(), after.source(), &|name| {
        was.symbols.contains_key(name) && !may_change(name)
    })
}

fn takes_over(name: &str) -> Rejection {
    reject(format!("binds the new name {name}, which code that may not change already uses"))
}

fn imports_stay(before: &Names<'_>, after: &Names<'_>) -> Result<(), Rejection> {
    for old in before.imports() {
        let Some(bound) = old.bound else { continue };
        if !after.imported(bound).contains(&old.path) {
            return Err(reject(format!(
                "removes the import of {bound}, which code elsewhere may rely on"
            )));
        }
    }
    for new in after.imports() {
        let Some(bound) = new.bound else { continue };
        let old = before.imported(bound);
        if !old.is_empty() && !old.contains(&new.path) {
            return Err(reject(format!(
                "imports {} under the name {bound}, which is taken",
                new.path
            ))
            .at_line(Some(after.source().line(new.node))));
        }
    }
    Ok(())
}

/// `global NAME` lets an editable function change a symbol that is not editable.
fn globals_stay(
    before: &Source,
    after: &Source,
    fixed: &dyn Fn(&str) -> bool,
) -> Result<(), Rejection> {
    let declared = |source| {
        descendants(Source::root(source))
            .filter(|node| node.kind() == "global_statement")
            .flat_map(children)
            .filter(|node| node.kind() == "identifier")
    };
    let usual: HashSet<&str> = declared(before).map(|node| before.slice(node)).collect();
    for node in declared(after) {
        let name = after.slice(node);
        if fixed(name) && !usual.contains(name) {
            return Err(reject(format!("declares {name} global, which may not change"))
                .at_line(Some(after.line(node))));
        }
    }
    Ok(())
}

fn top_level(source: &Source) -> TopLevel<'_> {
    let mut top = TopLevel { symbols: BTreeMap::new(), others: Vec::new() };
    for statement in children(source.root()) {
        if matches!(
            statement.kind(),
            "comment" | "import_statement" | "import_from_statement" | "future_import_statement"
        ) {
            continue;
        }
        let bound = bound_names(source, statement);
        if bound.is_empty() {
            top.others.push(statement);
        }
        for name in bound {
            top.symbols.entry(name).or_default().push(statement);
        }
    }
    top
}

/// The names that a top-level statement binds.
fn bound_names<'s>(source: &'s Source, statement: Node<'s>) -> Vec<&'s str> {
    match statement.kind() {
        "decorated_definition" => statement
            .child_by_field_name("definition")
            .map_or_else(Vec::new, |it| bound_names(source, it)),
        "function_definition" | "class_definition" => {
            statement.child_by_field_name("name").map(|it| source.slice(it)).into_iter().collect()
        }
        "expression_statement" => children(statement)
            .filter(|it| matches!(it.kind(), "assignment" | "augmented_assignment"))
            .filter_map(|it| it.child_by_field_name("left"))
            .flat_map(descendants)
            .filter(|it| it.kind() == "identifier")
            .map(|it| source.slice(it))
            .collect(),
        _ => Vec::new(),
    }
}

/// All names that occur in the statements that may not change.
fn names_in_use<'s>(
    names: &Names<'s>,
    top: &TopLevel<'s>,
    may_change: &dyn Fn(&str) -> bool,
) -> HashSet<&'s str> {
    let fixed = top.symbols.iter().filter(|(name, _)| !may_change(name));
    fixed
        .flat_map(|(_, nodes)| nodes)
        .chain(&top.others)
        .flat_map(|node| descendants(*node))
        .filter(|node| node.kind() == "identifier")
        .map(|node| names.source().slice(node))
        .collect()
}

fn texts<'s>(source: &'s Source, nodes: &[Node<'s>]) -> Vec<&'s str> {
    nodes.iter().map(|node| source.slice(*node)).collect()
}
