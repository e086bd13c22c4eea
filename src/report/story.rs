//! The verdict in words, the same in every format.

use super::{OutcomeKind, Report, format, ranking};

/// What a report says before anything else.
#[derive(Debug)]
pub(super) struct Story {
    /// A short sentence without its full stop.
    pub(super) title: String,
    /// Where, how sure, how many cases; or why not.
    pub(super) detail: String,
    /// What must be known before a number is believed.
    pub(super) notice: Option<&'static str>,
    /// That the contract lets wrong answers pass.
    pub(super) caution: Option<String>,
}

const INTERPRETER: &str = "Times are those of Triton's interpreter on the CPU and not a GPU's, \
    and compilation for a GPU was not checked. Run again on a GPU before relying on them.";

pub(super) fn tell(report: &Report) -> Story {
    let name = &report.target.name;
    let scope = format!("{}, {}", device(report), format::count(report.cases.len(), "case"));
    let tried = format::count(ranking::tried(report), "candidate");
    let (title, detail) = match report.outcome {
        OutcomeKind::Improved => improved(report, &scope),
        OutcomeKind::NoImprovement => (
            format!("No improvement: {name} stays as it was"),
            format!("{} {tried} tried on {scope}.", sentence(&report.reason)),
        ),
        OutcomeKind::Parked => (
            format!("Parked: {name} awaits answers"),
            format!("{} {tried} tried so far on {scope}.", sentence(&report.reason)),
        ),
        OutcomeKind::Failed => {
            (format!("Failed: {name} was not optimised"), sentence(&report.reason))
        }
    };
    let notice = on_cpu(report).then_some(INTERPRETER);
    Story { title, detail, notice, caution: caution(report) }
}

fn improved(report: &Report, scope: &str) -> (String, String) {
    let name = &report.target.name;
    match &report.speedup.vs_baseline {
        Some(ratio) => (
            format!("{name} is {} faster{}", format::times(ratio.median), place(report)),
            format!(
                "95 % interval {} over the baseline, {} paired rounds; {scope}.{}{}",
                format::interval(ratio),
                ratio.rounds,
                moves(report),
                stopped(report)
            ),
        ),
        None => (
            format!("{name} is faster{}", place(report)),
            format!("{} {scope}.", sentence(&report.reason)),
        ),
    }
}

/// Why the search ended before its budget, as a sentence with a space before it.
fn stopped(report: &Report) -> String {
    let stopped = report.budget.stopped.as_ref();
    stopped.map_or_else(String::new, |stopped| format!(" {}", sentence(stopped)))
}

/// The way from the baseline to the winner.
fn moves(report: &Report) -> String {
    let moves = report.best.as_ref().map_or(&[][..], |best| &best.moves);
    if moves.is_empty() { String::new() } else { format!(" By {}.", moves.join(", then ")) }
}

fn caution(report: &Report) -> Option<String> {
    let passed = report.audit.passed.len();
    (passed > 0).then(|| {
        format!(
            "The contract lets wrong answers pass ({}): correctness is worth less until it is \
             mended, see below.",
            format::count(passed, "finding")
        )
    })
}

/// A speedup in the interpreter must not be quoted as one on a GPU.
fn place(report: &Report) -> &'static str {
    if on_cpu(report) { " in Triton's interpreter" } else { "" }
}

fn on_cpu(report: &Report) -> bool {
    report.device.kind == "cpu"
}

/// Name of the device as a reader should take it.
fn device(report: &Report) -> &str {
    if on_cpu(report) { "the cpu device" } else { &report.device.name }
}

/// `text` as a sentence of its own.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{stop}", first.to_uppercase(), chars.as_str())
}
