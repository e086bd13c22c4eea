//! Maps an answer onto the symbols that may change.
//!
//! A model that repeats the file often drops a comment of what it may not touch, or leaves that out.
//! This is put right in silence: what may not change is taken from the parent. A real change of it is
//! an error, since the rest of the answer may rely on it.

use super::sameness::same_nodes;
use super::splice::{Terms, splice};
use super::toplevel::{Kind, Statement, statements};
use super::{AnswerError, parsed};
use crate::kernel::syntax::Source;

/// The source after `answer`, a whole file, where only `editable` may change.
pub(super) fn settle(
    parent: &Source,
    answer: &Source,
    editable: &[String],
) -> Result<String, AnswerError> {
    let (old, new) = (statements(parent), statements(answer));
    let may_change = |name: &&str| editable.iter().any(|it| it == *name);
    let mut changed: Vec<(String, u32)> = Vec::new();
    let mut untouched = true;
    for before in &old {
        let Kind::Binds(names) = &before.kind else { continue };
        if names.iter().all(may_change) {
            continue;
        }
        for name in names.iter().filter(|name| !may_change(name)) {
            let was: Vec<_> = binding(&old, name).collect();
            let is: Vec<_> = binding(&new, name).collect();
            let text = |source: &Source, list: &[&Statement<'_>]| -> Vec<String> {
                list.iter().map(|it| source.slice(it.node).to_owned()).collect()
            };
            untouched &= text(parent, &was) == text(answer, &is);
            let same = was.len() == is.len()
                && was.iter().zip(&is).all(|(a, b)| same_nodes((parent, a.node), (answer, b.node)));
            if let Some(first) = is.first().filter(|_| !same) {
                changed.push(((*name).to_owned(), answer.line(first.node)));
            }
        }
    }
    changed.dedup();
    if let Some((_, line)) = changed.first() {
        let line = Some(*line);
        let changed = changed.into_iter().map(|(name, _)| name).collect();
        return Err(AnswerError::Forbidden { changed, line, allowed: editable.to_vec() });
    }
    let others = |source: &Source, list: &[Statement<'_>]| -> Vec<String> {
        let others = list.iter().filter(|it| it.kind == Kind::Other);
        others.map(|it| source.slice(it.node).to_owned()).collect()
    };
    let imports_stay = old
        .iter()
        .filter(|it| it.kind == Kind::Import)
        .all(|before| new.iter().any(|it| answer.slice(it.node) == parent.slice(before.node)));
    if untouched && imports_stay && others(parent, &old) == others(answer, &new) {
        return Ok(answer.text().to_owned());
    }
    let spliced = splice(parent, answer, Terms { editable: Some(editable), whole: true });
    let text = spliced.map_err(|_| AnswerError::Forbidden {
        changed: vec!["the order of the file's definitions".to_owned()],
        line: None,
        allowed: editable.to_vec(),
    })?;
    Ok(parsed(&text, false)?.text().to_owned())
}

fn binding<'a, 's>(
    list: &'a [Statement<'s>],
    name: &'a str,
) -> impl Iterator<Item = &'a Statement<'s>> {
    list.iter().filter(move |it| matches!(&it.kind, Kind::Binds(names) if names.contains(&name)))
}
