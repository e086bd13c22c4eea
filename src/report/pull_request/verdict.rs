//! What came of a kernel, in one line.

use super::{KernelResult, fit::plain};
use crate::report::{OutcomeKind, Report, format, story};

/// How a kernel ended, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    Faster,
    Unchanged,
    Parked,
    Failed,
}

impl Ending {
    pub(super) fn of(result: &KernelResult) -> Self {
        match result.report.as_ref().map(|report| report.outcome) {
            Some(OutcomeKind::Improved) => Self::Faster,
            Some(OutcomeKind::NoImprovement) => Self::Unchanged,
            Some(OutcomeKind::Parked) => Self::Parked,
            Some(OutcomeKind::Failed) | None => Self::Failed,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Unchanged => "without improvement",
            Self::Parked => "awaiting answers",
            Self::Failed => "failed",
        }
    }
}

/// `**softmax is 1.72× faster** (…) on NVIDIA H200, 3 cases verified.`, as Markdown. Texts in
/// `result` are clean.
pub(super) fn line(result: &KernelResult) -> String {
    let Some(report) = &result.report else {
        let why = result.failure.as_deref().unwrap_or("the run ended without a report");
        let title = plain(&format!("Failed: {} was not optimised", short(&result.name)), 160);
        return format!(
            "**{title}.** {}",
            plain(&story::sentence(&format::shorten(why, 600)), 600)
        );
    };
    let story = story::tell(report);
    let title = plain(&story.title, 160);
    match (&report.speedup.vs_baseline, report.outcome) {
        (Some(ratio), OutcomeKind::Improved) => format!(
            "**{title}** (95 % interval {}, {}) on {}, {}.",
            format::interval(ratio),
            format::count(ratio.rounds as usize, "paired round"),
            device(report),
            verified(report),
        ),
        _ => format!("**{title}.** {}", plain(&story.detail, 600)),
    }
}

/// The same without markup, for a title.
pub(super) fn title(result: &KernelResult) -> String {
    match &result.report {
        Some(report) => story::tell(report).title,
        None => format!("Failed: {} was not optimised", short(&result.name)),
    }
}

/// `2 kernels: 1 faster, 1 failed`; of a single kernel its own title.
pub(super) fn summary<'r>(results: impl Iterator<Item = &'r KernelResult> + Clone) -> String {
    let number = results.clone().count();
    if let (1, Some(only)) = (number, results.clone().next()) {
        return title(only);
    }
    let endings: Vec<Ending> = results.map(Ending::of).collect();
    let counted = [Ending::Faster, Ending::Unchanged, Ending::Parked, Ending::Failed]
        .into_iter()
        .filter_map(|ending| {
            let count = endings.iter().filter(|other| **other == ending).count();
            (count > 0).then(|| format!("{count} {}", ending.word()))
        });
    let counted: Vec<String> = counted.collect();
    match counted.is_empty() {
        true => "No kernel to optimise".to_owned(),
        false => format!("{number} kernels: {}", counted.join(", ")),
    }
}

pub(super) fn on_cpu(report: &Report) -> bool {
    report.device.kind == "cpu"
}

fn short(name: &str) -> String {
    format::shorten(name, 80)
}

fn device(report: &Report) -> String {
    if on_cpu(report) { "the cpu device".to_owned() } else { plain(&report.device.name, 80) }
}

/// The final verification covers every case of the contract; those with a time were measured too.
fn verified(report: &Report) -> String {
    let measured = report.cases.iter().filter(|case| case.best_us.is_some()).count();
    match (report.cases.len(), measured) {
        (all, measured) if all == measured => format!("{} verified", format::count(all, "case")),
        (all, measured) => format!("{measured} of {} verified", format::count(all, "case")),
    }
}
