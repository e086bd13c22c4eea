//! From a verified file to review comments whose suggestions, applied, give it byte for byte; or
//! why that cannot be.
//!
//! A kernel is one whole: it is offered completely or not at all. GitHub takes a suggestion only on
//! lines that the pull request's diff shows, both ends in one hunk, and replaces exactly those lines.
//! So every change of `head → verified` is anchored in a hunk ([`changes`], [`anchor`]), written into a
//! block that its own text cannot close ([`block`]), and in the end all comments are read back and
//! applied ([`apply()`]): what is posted is what was compared.

mod anchor;
mod apply;
mod block;
mod changes;
mod diff;
mod refusal;

use std::ops::RangeInclusive;

use sha2::{Digest, Sha256};

pub use apply::{ApplyError, apply};
pub use diff::{DiffError, FileDiff};
pub use refusal::NoSuggestion;

/// Suggestions for one kernel: more is no longer a review but a flood (GitHub's own, undocumented
/// cap is 100).
pub const AT_MOST: usize = 10;

/// Characters of a comment: GitHub refuses more than 65,536, and somebody may put prose before it.
const BODY_CHARACTERS: usize = 60_000;

/// One comment of a review, on the right side of the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    pub path: String,
    /// First line of the range, from 1; `None` for a single line, as GitHub wants it.
    pub start_line: Option<u32>,
    /// Last line of the range, from 1.
    pub line: u32,
    /// Markdown: the block, before which prose may be put.
    pub body: String,
    /// What the range becomes: whole lines with their newlines; empty where it is deleted.
    pub replacement: String,
}

impl Suggestion {
    /// The lines that it replaces, from 1.
    pub fn lines(&self) -> RangeInclusive<u32> {
        self.start_line.unwrap_or(self.line)..=self.line
    }

    /// Finds a comment that was posted already: a hash of path, lines and body.
    pub fn key(&self) -> String {
        let lines = self.lines();
        let hash = Sha256::new()
            .chain_update(format!("{}\0{}\0{}\0", self.path, lines.start(), lines.end()))
            .chain_update(&self.body)
            .finalize();
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The comments that make `verified` of the file at `path`, which is `head` at the commit that `diff`
/// leads to; the lower on the page the earlier, so that none moves the lines of one after it.
pub fn suggest(
    path: &str,
    head: &str,
    verified: &str,
    diff: &FileDiff,
) -> Result<Vec<Suggestion>, NoSuggestion> {
    expressible(head, verified)?;
    diff.belongs_to(head)?;
    let (old, new) = (lines(head), lines(verified));
    let changes = anchor::anchored(changes::between(&old, &new), &old, &new, diff)?;
    if changes.len() > AT_MOST {
        return Err(NoSuggestion::TooMany { needed: changes.len() });
    }
    let mut suggestions = Vec::with_capacity(changes.len());
    for change in changes.iter().rev() {
        let ends_the_file = change.old.end == old.len();
        if ends_the_file && !head.ends_with('\n') {
            return Err(NoSuggestion::NewlineAtEnd);
        }
        let (removed, added) = (old[change.old.clone()].concat(), new[change.new.clone()].concat());
        if let Some(hidden) = block::hidden(&removed).or_else(|| block::hidden(&added)) {
            return Err(NoSuggestion::HiddenCharacter(hidden));
        }
        let body = block::write(&added);
        if body.chars().count() > BODY_CHARACTERS {
            return Err(NoSuggestion::TooLong);
        }
        let (first, last) = (number(change.old.start), number(change.old.end - 1));
        suggestions.push(Suggestion {
            path: path.to_owned(),
            start_line: (first < last).then_some(first),
            line: last,
            body,
            replacement: added,
        });
    }
    match apply(head, &suggestions) {
        Ok(applied) if applied == verified => Ok(suggestions),
        _ => Err(NoSuggestion::NotTheVerifiedFile),
    }
}

/// Whether suggestions can say this at all, wherever the changes lie.
fn expressible(head: &str, verified: &str) -> Result<(), NoSuggestion> {
    if head == verified {
        return Err(NoSuggestion::NothingToChange);
    }
    if head.contains('\r') || verified.contains('\r') {
        return Err(NoSuggestion::CarriageReturns);
    }
    // A range of lines says nothing of the newline that the file ends with or not.
    if head.ends_with('\n') != verified.ends_with('\n') {
        return Err(NoSuggestion::NewlineAtEnd);
    }
    Ok(())
}

/// The lines of `text`, each with its newline. Git and GitHub's diffs end lines at `\n` and nowhere
/// else: neither at U+2028 nor at a form feed.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Number of the line at `index`, as people and GitHub count.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests;
