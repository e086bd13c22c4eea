//! Where changes can stand: each on lines of one hunk.

use std::ops::RangeInclusive;

use super::{FileDiff, NoSuggestion, changes::Change, number};

/// Equal lines between two changes up to which they are read better as one.
const NEAR: usize = 3;

/// `changes` such that each replaces at least one line, all of them in one hunk of `diff`; or which
/// lines are in the way.
pub(super) fn anchored(
    changes: Vec<Change>,
    old: &[&str],
    new: &[&str],
    diff: &FileDiff,
) -> Result<Vec<Change>, NoSuggestion> {
    let mut placed: Vec<Change> = Vec::with_capacity(changes.len());
    let (mut outside, mut across) = (Vec::new(), Vec::new());
    for at in 0..changes.len() {
        // A change may slide over equal lines, and one of them stays between it and another change.
        let floor = placed.last().map_or(0, |before| before.old.end + 1);
        let ceiling = changes.get(at + 1).map_or(old.len(), |after| after.old.start - 1);
        match place(&changes[at], floor, ceiling, old, new, diff) {
            Some(change) => placed.push(change),
            None => {
                let lines = missing(&changes[at]);
                let shown = |index: usize| diff.hunk_of(&(index..index + 1)).is_some();
                let all = !changes[at].old.is_empty() && changes[at].old.clone().all(shown);
                if all { across.push(lines) } else { outside.push(lines) }
            }
        }
    }
    if !outside.is_empty() {
        return Err(NoSuggestion::OutsideTheDiff { lines: outside });
    }
    if !across.is_empty() {
        return Err(NoSuggestion::AcrossHunks { lines: across });
    }
    let legible: Result<Vec<Change>, _> =
        merged(placed, diff).into_iter().map(|change| with_ink(change, old, new, diff)).collect();
    Ok(merged(legible?, diff))
}

/// The change on lines of one hunk, slid up or down where it can stand in several places.
fn place(
    change: &Change,
    floor: usize,
    ceiling: usize,
    old: &[&str],
    new: &[&str],
    diff: &FileDiff,
) -> Option<Change> {
    if let Some(placed) = on_lines(change, diff) {
        return Some(placed);
    }
    let mut up = change.clone();
    while up.old.start > floor && slide_up(&mut up, old, new) {
        if let Some(placed) = on_lines(&up, diff) {
            return Some(placed);
        }
    }
    let mut down = change.clone();
    while down.old.end < ceiling && slide_down(&mut down, old, new) {
        if let Some(placed) = on_lines(&down, diff) {
            return Some(placed);
        }
    }
    None
}

/// The change as it stands, if a hunk has it. Nothing can be inserted between lines, so an insertion
/// takes the line before it along, else the one after it.
fn on_lines(change: &Change, diff: &FileDiff) -> Option<Change> {
    let Change { old, new } = change;
    let fits = |change: Change| diff.hunk_of(&change.old).is_some().then_some(change);
    if !old.is_empty() {
        return fits(change.clone());
    }
    let before = || {
        let start = (old.start.checked_sub(1)?, new.start.checked_sub(1)?);
        fits(Change { old: start.0..old.end, new: start.1..new.end })
    };
    let after = || fits(Change { old: old.start..old.end + 1, new: new.start..new.end + 1 });
    before().or_else(after)
}

/// Moves an insertion or a removal one line up where that gives the same file.
fn slide_up(change: &mut Change, old: &[&str], new: &[&str]) -> bool {
    let Change { old: o, new: n } = &*change;
    let same = match (o.is_empty(), n.is_empty()) {
        (true, false) => n.start > 0 && new[n.start - 1] == new[n.end - 1],
        (false, true) => o.start > 0 && old[o.start - 1] == old[o.end - 1],
        _ => false,
    };
    if same && o.start > 0 && n.start > 0 {
        *change = Change { old: o.start - 1..o.end - 1, new: n.start - 1..n.end - 1 };
        return true;
    }
    false
}

/// Moves an insertion or a removal one line down where that gives the same file.
fn slide_down(change: &mut Change, old: &[&str], new: &[&str]) -> bool {
    let Change { old: o, new: n } = &*change;
    let same = match (o.is_empty(), n.is_empty()) {
        (true, false) => n.end < new.len() && new[n.end] == new[n.start],
        (false, true) => o.end < old.len() && old[o.end] == old[o.start],
        _ => false,
    };
    if same && o.end < old.len() && n.end < new.len() {
        *change = Change { old: o.start + 1..o.end + 1, new: n.start + 1..n.end + 1 };
        return true;
    }
    false
}

/// Changes near one another as one, where one hunk has them all.
fn merged(changes: Vec<Change>, diff: &FileDiff) -> Vec<Change> {
    let mut merged: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        if let Some(last) = merged.last_mut() {
            let union = last.old.start..change.old.end.max(last.old.end);
            let near = change.old.start <= last.old.end + NEAR;
            if near && diff.hunk_of(&union).is_some() {
                *last =
                    Change { old: union, new: last.new.start..change.new.end.max(last.new.end) };
                continue;
            }
        }
        merged.push(change);
    }
    merged
}

/// A block that holds nothing but an empty line looks like an empty block, which deletes: such a
/// change takes a neighbour along that has something on it.
fn with_ink(
    change: Change,
    old: &[&str],
    new: &[&str],
    diff: &FileDiff,
) -> Result<Change, NoSuggestion> {
    let blank = |change: &Change| {
        !change.new.is_empty() && new[change.new.clone()].iter().all(|line| line.trim().is_empty())
    };
    let grown = |up: bool| {
        let mut change = change.clone();
        while blank(&change) {
            let Change { old: o, new: n } = change;
            change = match up {
                true => Change {
                    old: o.start.checked_sub(1)?..o.end,
                    new: n.start.checked_sub(1)?..n.end,
                },
                false => Change { old: o.start..o.end + 1, new: n.start..n.end + 1 },
            };
            // A line of another change on the way is no neighbour.
            let same = |o: usize, n: usize| old.get(o).is_some_and(|line| new.get(n) == Some(line));
            let neighbour = match up {
                true => same(change.old.start, change.new.start),
                false => same(change.old.end - 1, change.new.end - 1),
            };
            if !neighbour || diff.hunk_of(&change.old).is_none() {
                return None;
            }
        }
        Some(change)
    };
    grown(true).or_else(|| grown(false)).ok_or(NoSuggestion::OnlyEmptyLines)
}

/// The lines that a change needs, as people count them.
fn missing(change: &Change) -> RangeInclusive<u32> {
    let first = change.old.start.saturating_sub(usize::from(change.old.is_empty()));
    number(first)..=number(first.max(change.old.end.saturating_sub(1)))
}
