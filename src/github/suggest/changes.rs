//! What differs between two files, as ranges of whole lines.

use std::{collections::HashMap, ops::Range};

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Lines of the old file that become lines of the new one, counted from 0; one of the two may be
/// empty, not both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Steps that looking for equal lines may take, about: a fraction of a second.
const EFFORT: usize = 20_000_000;

/// The changes from `old` to `new`, in order, at least one equal line between two of them. Files that
/// have next to nothing in common differ in one change, without a closer look.
pub(super) fn between(old: &[&str], new: &[&str]) -> Vec<Change> {
    if (old.len() + new.len()).saturating_mul(least_edits(old, new)) > EFFORT {
        return vec![middle(old, new)];
    }
    runs(old, new)
}

/// Lines that one of the files has and the other has not, by their number: no diff has fewer edits.
fn least_edits(old: &[&str], new: &[&str]) -> usize {
    let mut surplus: HashMap<&str, isize> = HashMap::new();
    for line in old {
        *surplus.entry(line).or_default() += 1;
    }
    for line in new {
        *surplus.entry(line).or_default() -= 1;
    }
    surplus.values().map(|count| count.unsigned_abs()).sum()
}

/// Everything between the first lines that differ and the last.
fn middle(old: &[&str], new: &[&str]) -> Change {
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - front;
    let back =
        old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    Change { old: front..old.len() - back, new: front..new.len() - back }
}

/// The changes by Myers' algorithm, whose effort grows with lines times edits.
///
/// A change is a run of operations that are not "equal". Positions are counted from the lengths of
/// the operations: after similar has moved an insertion, the place that it names on the other side
/// is stale.
fn runs(old: &[&str], new: &[&str]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    let mut in_a_run = false;
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        let (removed, added) = match op {
            DiffOp::Equal { len, .. } => {
                (at_old, at_new) = (at_old + len, at_new + len);
                in_a_run = false;
                continue;
            }
            DiffOp::Delete { old_len, .. } => (old_len, 0),
            DiffOp::Insert { new_len, .. } => (0, new_len),
            DiffOp::Replace { old_len, new_len, .. } => (old_len, new_len),
        };
        let (end_old, end_new) = (at_old + removed, at_new + added);
        match changes.last_mut().filter(|_| in_a_run) {
            Some(run) => (run.old.end, run.new.end) = (end_old, end_new),
            None => changes.push(Change { old: at_old..end_old, new: at_new..end_new }),
        }
        (at_old, at_new) = (end_old, end_new);
        in_a_run = true;
    }
    changes
}
