//! From a run that ended to what is kept of it.

use std::{path::Path, time::Duration};

use super::{search::SearchEnd, steps::Trouble};
use crate::{
    engine::Sight,
    report::{OutcomeKind, Report, cleaned},
    service::order::{KernelOrder, KernelOutcome},
    store::service::ServiceStore,
};

/// Of what a failed search printed, the last so many lines are shown.
const SHOWN_LINES: usize = 12;

/// A search that is over.
pub(super) struct Ended<'e> {
    pub(super) kernel: &'e KernelOrder,
    /// The run as it stands, where one was begun.
    pub(super) sight: Option<&'e Sight>,
    /// How the process ended, where one was needed.
    pub(super) end: Option<&'e SearchEnd>,
    /// The folder of the job.
    pub(super) root: &'e Path,
}

/// What came of it, and how long it took. A search that did not come to an outcome and was not about
/// the two files is a passing trouble.
pub(super) async fn of(
    ended: Ended<'_>,
    store: &dyn ServiceStore,
) -> Result<(KernelOutcome, Duration), Trouble> {
    let Ended { kernel, sight, end, root } = ended;
    let Some(sight) = sight.filter(|sight| sight.has_ended()) else {
        let said = end.map_or("", |end| end.said.as_str());
        let what = match end.and_then(|end| end.status) {
            // Usage and environment: it would be the same another time.
            Some(2) => return Ok((failed(kernel, last_lines(said)), Duration::ZERO)),
            Some(3) => return Err(Trouble::Passing(last_lines(said))),
            Some(4) => {
                let text = "the budget ended before the baseline was measured; allow more with \
                            budget=";
                return Ok((failed(kernel, text.to_owned()), Duration::ZERO));
            }
            Some(status) => format!("the search ended with status {status}"),
            None => "the search was killed".to_owned(),
        };
        return Err(Trouble::Passing(format!("{what}: {}", last_lines(said))));
    };
    let report = without_paths(sight.report()?, kernel, root);
    let seconds = Duration::from_secs_f64(report.budget.wall_seconds_spent.clamp(0.0, 1e9));
    let verified = match (&report.outcome, &report.best_source) {
        (OutcomeKind::Improved, Some(source)) => Some(store.keep_text(source).await?),
        _ => None,
    };
    let baseline = Some(store.keep_text(&report.baseline_source).await?);
    let failure = match report.outcome {
        OutcomeKind::Failed | OutcomeKind::Parked => Some(report.reason.clone()),
        OutcomeKind::Improved | OutcomeKind::NoImprovement => None,
    };
    let outcome = KernelOutcome {
        name: kernel.name.clone(),
        source: kernel.source.clone(),
        notes: kernel.notes.clone(),
        tests: tests(sight),
        report: Some(Box::new(shortened(report))),
        failure,
        verified,
        baseline,
    };
    Ok((outcome, seconds))
}

/// A kernel that was not searched for.
pub(super) fn failed(kernel: &KernelOrder, failure: String) -> KernelOutcome {
    KernelOutcome {
        name: kernel.name.clone(),
        source: kernel.source.clone(),
        notes: kernel.notes.clone(),
        report: None,
        failure: Some(failure),
        verified: None,
        baseline: None,
        tests: None,
    }
}

/// The command that passed on the winner, where the repository names one: the last gate is part of every
/// verification that was accepted.
fn tests(sight: &Sight) -> Option<String> {
    sight.record.target.tests.as_ref().map(|words| words.join(" "))
}

/// What a pull request shows does not tell where things lie on the host; the command is one that a reader
/// can give in a checkout of that commit.
fn without_paths(mut report: Report, kernel: &KernelOrder, root: &Path) -> Report {
    let tree = root.join("tree");
    let inside = |path: &str| match Path::new(path).strip_prefix(&tree) {
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    };
    report.target.contract = inside(&report.target.contract);
    report.target.source = inside(&report.target.source);
    let seconds = report.budget.wall_seconds_limit.map(|limit| format!(" --budget {limit:.0}s"));
    report.run.command = format!(
        "kernelbrain optimize --kernel {} --seed {}{}",
        shell_words::quote(&kernel.name),
        report.run.seed,
        seconds.unwrap_or_default()
    );
    report
}

/// Candidates are in the run's journal; what is shown in a pull request does not need each.
fn shortened(mut report: Report) -> Report {
    /// Enough to see what was tried.
    const CANDIDATES: usize = 200;
    report.candidates.truncate(CANDIDATES);
    report
}

fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    cleaned(&lines[from..].join("\n"))
}
