//! What the check run shows: progress, then how it ended.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{
    Delivered, KernelProgress, KernelResult, Progress, PullRequestFacts, comment, facts,
    fit::{self, Priority, Section},
    verdict::{self, Ending},
};
use crate::report::{
    clean,
    escape::{code, span},
    format,
};

/// Title and summary of a check run's output; the summary is Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckText {
    pub title: String,
    pub summary: String,
}

/// How a check run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Every kernel was searched, and one at least is faster.
    Success,
    /// Nothing is faster, which is no fault of the pull request.
    Neutral,
    /// A kernel could not be searched.
    Failure,
}

impl Conclusion {
    /// As GitHub spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure => "failure",
        }
    }
}

/// A search under way.
pub fn check_output(progress: &Progress) -> CheckText {
    let Progress { kernels, device, interpreter } = progress;
    let mut head = match device {
        Some(device) => format!("Measured on {}.", fit::plain(&clean::text(device), 80)),
        None => String::new(),
    };
    if *interpreter {
        head += " Times are those of Triton's interpreter and not a GPU's.";
    }
    let sections = kernels.iter().map(|kernel| {
        Section::new(Priority::Core, "the progress", &clean::text(&kernel.name), &shown(kernel))
    });
    let summary = fit::page(head.trim(), sections.collect(), "");
    CheckText { title: progress_title(kernels), summary }
}

/// `searching softmax (1 of 2): best so far 1.48×, 9 min 0 s left`.
fn progress_title(kernels: &[KernelProgress]) -> String {
    use super::Phase::{Done, Failed, Waiting};
    let active = |kernel: &&KernelProgress| !matches!(kernel.phase, Done | Failed | Waiting);
    let at = kernels.iter().position(|kernel| active(&kernel));
    let Some((at, kernel)) = at.and_then(|at| Some((at, kernels.get(at)?))) else {
        let over = kernels.iter().filter(|kernel| kernel.phase != Waiting).count();
        return match (kernels.len(), over) {
            (0, _) | (_, 0) => "Waiting".to_owned(),
            (all, over) if all == over => "Reporting".to_owned(),
            (all, over) => format!("{over} of {} done", format::count(all, "kernel")),
        };
    };
    let mut title = capital(&format!("{} {}", kernel.phase.words(), line(&kernel.name)));
    if kernels.len() > 1 {
        let _ = write!(title, " ({} of {})", at + 1, kernels.len());
    }
    let best = kernel.best_speedup.filter(|best| *best > 1.0);
    let best = best.map(|best| format!("best so far {}, not verified", format::times(best)));
    let left = kernel.budget_left_seconds.map(|left| format!("{} left", format::seconds(left)));
    let parts: Vec<String> = [best, left].into_iter().flatten().collect();
    if !parts.is_empty() {
        let _ = write!(title, ": {}", parts.join(", "));
    }
    title
}

fn shown(kernel: &KernelProgress) -> String {
    let name = format::shorten(&clean::text(&kernel.name), 80);
    let KernelProgress { phase, rungs, candidates, best_speedup, .. } = kernel;
    let mut text = format!("### {}\n\n{}", span(&name), capital(phase.words()));
    if *candidates > 0 {
        let _ = write!(text, "; {} evaluated", format::count(*candidates, "candidate"));
    }
    match best_speedup.filter(|best| best.is_finite()) {
        Some(best) if best > 1.0 => {
            let _ = write!(
                text,
                "; best so far **{}**, from single measurements and before its verification: it \
                 may not hold",
                format::times(best)
            );
        }
        Some(_) => text.push_str("; nothing faster than the baseline so far"),
        None => {}
    }
    if let Some(left) = kernel.budget_left_seconds {
        let of = kernel.budget_seconds.map(|all| format!(" of {}", format::seconds(all)));
        let _ = write!(text, "; {}{} left", format::seconds(left), of.unwrap_or_default());
    }
    text.push('.');
    if !rungs.is_empty() {
        text.push_str("\n\n| rung | entered | rejected | measured | promoted | |\n");
        text.push_str("| ---: | ---: | ---: | ---: | ---: | --- |\n");
        let most = rungs.iter().map(|rung| rung.entered).max().unwrap_or(0).max(1);
        for rung in rungs.iter().take(20) {
            let bar = "█".repeat((rung.entered * 20).div_ceil(most));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                rung.index,
                rung.entered,
                rung.rejected,
                rung.measured,
                rung.promoted,
                code(bar)
            );
        }
    }
    text
}

/// How the check run of a job ends: [`Conclusion::Failure`] as soon as one kernel failed,
/// [`Conclusion::Success`] where one is faster.
pub fn check_conclusion(
    facts: &PullRequestFacts,
    results: &[(KernelResult, Delivered)],
) -> (Conclusion, CheckText) {
    let (facts, results) = (&facts.cleaned(), &facts::cleaned(results));
    let any = |ending| results.iter().any(|(result, _)| Ending::of(result) == ending);
    let conclusion = match () {
        () if any(Ending::Failed) => Conclusion::Failure,
        () if any(Ending::Faster) => Conclusion::Success,
        () => Conclusion::Neutral,
    };
    let title = verdict::summary(results.iter().map(|(result, _)| result));
    let (head, sections, foot) = comment::parts(facts, results);
    let summary = fit::page(&head, sections, &foot);
    (conclusion, CheckText { title: line(&title), summary })
}

/// For a title, which is plain text: one line of bearable length.
fn line(text: &str) -> String {
    format::shorten(&clean::text(text).replace(['\n', '\t'], " "), 120)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
