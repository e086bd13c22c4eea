//! The difference of two texts, line by line. Lines end at `\n` and nowhere else, as in patches.

use std::ops::Range;

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Some changes close to one another, with what surrounds them.
#[derive(Debug)]
pub(super) struct Hunk<'t> {
    /// Lines of the old and the new text that it covers, from 0.
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    pub(super) lines: Vec<Line<'t>>,
}

#[derive(Clone, Debug)]
pub(super) struct Line<'t> {
    pub(super) tag: ChangeTag,
    /// Number in the old text, from 0; `None` for an added line.
    pub(super) old: Option<usize>,
    /// Number in the new text, from 0; `None` for a removed line.
    pub(super) new: Option<usize>,
    /// With its `\n`, which only the last line of a text may lack.
    pub(super) text: &'t str,
}

impl Line<'_> {
    /// What a patch puts before the line.
    pub(super) fn sign(&self) -> char {
        match self.tag {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        }
    }
}

/// The hunks that make `new` of `old`; none when they are equal.
pub(super) fn hunks<'t>(old: &'t str, new: &'t str) -> Vec<Hunk<'t>> {
    let (old, new) = (lines(old), lines(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let grouped = group_diff_ops(ops, CONTEXT);
    grouped.iter().filter_map(|ops| hunk(ops, &old, &new)).collect()
}

/// The lines of `text`, each with its newline.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn hunk<'t>(ops: &[DiffOp], old: &[&'t str], new: &[&'t str]) -> Option<Hunk<'t>> {
    let lines: Vec<Line<'t>> = ops
        .iter()
        .flat_map(|op| op.iter_changes(old, new))
        .map(|change| Line {
            tag: change.tag(),
            old: change.old_index(),
            new: change.new_index(),
            text: change.value(),
        })
        .collect();
    // From the lines and not from the operations: after similar has moved an insertion or a removal,
    // its place on the other side is stale.
    let range =
        |numbers: Vec<usize>| numbers.first().map_or(0..0, |first| *first..first + numbers.len());
    Some(Hunk {
        old: range(lines.iter().filter_map(|line| line.old).collect()),
        new: range(lines.iter().filter_map(|line| line.new).collect()),
        lines,
    })
    .filter(|hunk| !hunk.lines.is_empty())
}
