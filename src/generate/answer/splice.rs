//! Puts the definitions of an answer into the parent's source, whose other lines stay as they are.

use std::collections::{BTreeMap, HashSet};

use super::toplevel::{Kind, Statement, statements};
use crate::kernel::syntax::{Edit, EditConflict, Source};

/// What may be taken from an answer.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    /// Top-level symbols that may change; `None` for all.
    pub(super) editable: Option<&'a [String]>,
    /// Whether an editable definition that the answer lacks is taken out: a whole file's is, a part's
    /// is not.
    pub(super) whole: bool,
}

impl Terms<'_> {
    fn may_change(&self, names: &[&str]) -> bool {
        self.editable
            .is_none_or(|editable| names.iter().all(|name| editable.iter().any(|it| it == name)))
    }
}

/// Between definitions.
const GAP: &str = "\n\n\n";

/// `parent` with the editable symbols, new symbols and new imports of `answer`.
pub(super) fn splice(
    parent: &Source,
    answer: &Source,
    terms: Terms<'_>,
) -> Result<String, EditConflict> {
    let (old, new) = (statements(parent), statements(answer));
    let old_of = |name: &str| old.iter().find(|it| binds(it, name));
    let mut replaced: BTreeMap<usize, (&Statement<'_>, Vec<&str>)> = BTreeMap::new();
    let old_imports: HashSet<&str> =
        old.iter().filter(|it| it.kind == Kind::Import).map(|it| parent.slice(it.node)).collect();
    let (mut imports, mut known) = (Vec::new(), old_imports);
    // New symbols keep their order: they stand before what follows them in the answer.
    let mut added: Vec<&str> = Vec::new();
    let mut edits = Vec::new();
    let mut last = None;
    for statement in &new {
        let text = answer.slice(statement.node);
        match &statement.kind {
            Kind::Import => {
                let future = statement.node.kind() == "future_import_statement";
                imports.extend((!future && known.insert(text)).then_some(text));
            }
            Kind::Binds(names) => match names.iter().find_map(|name| old_of(name)) {
                Some(before)
                    if terms.may_change(&bound(before)) && terms.may_change_or_new(names, &old) =>
                {
                    if !added.is_empty() {
                        let text = format!("{}{GAP}", added.join(GAP));
                        edits.push(Edit::insert(before.span().start, text));
                        added.clear();
                    }
                    last = Some(before.span().end);
                    let texts =
                        &mut replaced.entry(before.span().start).or_insert((before, Vec::new())).1;
                    // A function that is defined twice is what it was defined as last.
                    if statement.is_definition() {
                        texts.clear();
                    }
                    texts.push(text);
                }
                Some(_) => {}
                None => added.push(text),
            },
            Kind::Other => {}
        }
    }
    for (before, texts) in replaced.values() {
        edits.push(Edit::replace(before.span(), texts.join("\n")));
    }
    if terms.whole {
        let gone = old.iter().filter(|it| {
            let names = bound(it);
            !names.is_empty()
                && terms.may_change(&names)
                && !names.iter().any(|name| new.iter().any(|it| binds(it, name)))
        });
        for statement in gone {
            let rest = parent.text().get(statement.span().end..).unwrap_or_default();
            let blank = rest.len() - rest.trim_start_matches(['\n', ' ', '\t']).len();
            edits.push(Edit::replace(statement.span().start..statement.span().end + blank, ""));
        }
    }
    if !imports.is_empty() {
        let last = old.iter().rev().find(|it| it.kind == Kind::Import);
        let text = imports.join("\n");
        edits.push(match last {
            Some(last) => Edit::insert(last.span().end, format!("\n{text}")),
            None => Edit::insert(first_code(&old), format!("{text}\n")),
        });
    }
    if !added.is_empty() {
        let at = last.unwrap_or(parent.text().trim_end().len());
        edits.push(Edit::insert(at, format!("{GAP}{}", added.join(GAP))));
    }
    parent.edited(&edits)
}

impl Terms<'_> {
    /// Whether each of `names` may change or is new.
    fn may_change_or_new(&self, names: &[&str], old: &[Statement<'_>]) -> bool {
        names.iter().all(|name| self.may_change(&[name]) || !old.iter().any(|it| binds(it, name)))
    }
}

/// Where code begins: after the docstring.
fn first_code(statements: &[Statement<'_>]) -> usize {
    let docstring =
        |it: &&Statement<'_>| it.kind == Kind::Other && it.node.kind() == "expression_statement";
    let mut all = statements.iter();
    match all.next() {
        Some(first) if docstring(&first) => {
            all.next().map_or(first.span().end, |next| next.span().start)
        }
        Some(first) => first.span().start,
        None => 0,
    }
}

fn bound<'s>(statement: &Statement<'s>) -> Vec<&'s str> {
    if let Kind::Binds(names) = &statement.kind { names.clone() } else { Vec::new() }
}

fn binds(statement: &Statement<'_>, name: &str) -> bool {
    matches!(&statement.kind, Kind::Binds(names) if names.contains(&name))
}
