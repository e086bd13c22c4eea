//! Which of many candidates a reader sees.

use super::{CandidateRow, CandidateVerdict, Report};
use crate::kernel::Gate;

/// Candidates that were measured and not rejected, the winner first, then by rung and score; at
/// most `at_most`.
pub(super) fn standing(report: &Report, at_most: usize) -> Vec<&CandidateRow> {
    let mut rows: Vec<&CandidateRow> = report
        .candidates
        .iter()
        .filter(|row| !matches!(row.verdict, CandidateVerdict::Queued | CandidateVerdict::Rejected))
        .collect();
    let score = |row: &CandidateRow| row.score.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| {
        let wins = |row: &CandidateRow| row.verdict == CandidateVerdict::Winner;
        wins(b)
            .cmp(&wins(a))
            .then_with(|| b.rung.cmp(&a.rung))
            .then_with(|| score(b).total_cmp(&score(a)))
            .then_with(|| a.id.cmp(&b.id))
    });
    rows.truncate(at_most);
    rows
}

/// The candidates that one gate rejected.
#[derive(Debug)]
pub(super) struct Rejections<'r> {
    pub(super) gate: Gate,
    pub(super) count: usize,
    /// The first of them.
    pub(super) example: &'r CandidateRow,
}

impl Rejections<'_> {
    /// Why the example was rejected.
    pub(super) fn reason(&self) -> &str {
        self.example.reason.as_deref().unwrap_or("no reason given")
    }
}

/// Rejections by gate, in the order in which gates are applied.
pub(super) fn rejections(report: &Report) -> Vec<Rejections<'_>> {
    let mut found: Vec<Rejections<'_>> = Vec::new();
    for row in &report.candidates {
        let (Some(gate), CandidateVerdict::Rejected) = (row.gate, row.verdict) else { continue };
        match found.iter_mut().find(|rejections| rejections.gate == gate) {
            Some(rejections) => rejections.count += 1,
            None => found.push(Rejections { gate, count: 1, example: row }),
        }
    }
    found.sort_by_key(|rejections| rejections.gate);
    found
}

/// How many candidates were tried, the baseline not counted.
pub(super) fn tried(report: &Report) -> usize {
    let counts = |row: &&CandidateRow| {
        !matches!(row.verdict, CandidateVerdict::Baseline | CandidateVerdict::Queued)
    };
    report.candidates.iter().filter(counts).count()
}

/// The verdict on a candidate, and whose measurement it rests on if not its own.
pub(super) fn verdict(row: &CandidateRow) -> String {
    let word = word(row.verdict);
    match &row.same_program_as {
        Some(other) => format!("{word}, same program as {}", super::format::short_id(other)),
        None => word.to_owned(),
    }
}

/// The word for a verdict in a table.
pub(super) fn word(verdict: CandidateVerdict) -> &'static str {
    match verdict {
        CandidateVerdict::Baseline => "baseline",
        CandidateVerdict::Queued => "not reached",
        CandidateVerdict::Rejected => "rejected",
        CandidateVerdict::Pruned => "pruned",
        CandidateVerdict::Survivor => "survivor",
        CandidateVerdict::Winner => "winner",
    }
}
