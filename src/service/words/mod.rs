//! What is said where: from what the service knows to the texts of [`crate::report::pull_request`].

mod refusal;

use std::{collections::HashMap, time::Duration};

use super::{
    command::{COMMANDS, CommandError, PREFIX},
    effect::CheckStage,
    key::{self, Key},
    order::{self, Delivery, KernelOrder, KernelOutcome, Results, order_of},
};
use crate::{
    report::{
        escaped, patch,
        pull_request::{
            self as text, Asked, CommandHelp, Conclusion, Delivered, JobStatus, KernelResult,
            Progress, PullRequestFacts, ReviewedKernel, TestsPassed,
        },
    },
    store::service::{Job, JobId, JobState},
};

pub(super) use refusal::refused;

/// Texts of files by their hash.
pub(super) type Texts = HashMap<String, String>;

/// What a check run shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckWords {
    pub(super) title: String,
    pub(super) summary: String,
    pub(super) text: Option<String>,
}

impl CheckWords {
    fn new(title: &str, summary: String) -> Self {
        Self { title: title.to_owned(), summary, text: None }
    }
}

/// The first line of whatever is found again by `key`.
pub(super) fn marker_line(key: &str) -> String {
    key::marker_of(key)
}

/// `text` with the marker of `key` as its first line, instead of one that it has.
pub(super) fn marked(key: &Key, text: &str) -> String {
    marked_as(&key.to_string(), text)
}

fn marked_as(key: &str, text: &str) -> String {
    let marker = marker_line(key);
    let rest = match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("<!-- kernelbrain:") => rest,
        _ => text,
    };
    format!("{marker}\n{rest}")
}

pub(super) fn queued(kernels: &[KernelOrder], seconds: u64, by: &str) -> CheckWords {
    let names: Vec<String> = kernels.iter().map(|kernel| escaped(&kernel.name)).collect();
    let time = humantime::format_duration(Duration::from_secs(seconds));
    let summary = format!(
        "Waiting for a GPU to search for faster versions of {} within {time}, as {} asked.",
        names.join(", "),
        escaped(by)
    );
    CheckWords::new("Waiting for a GPU", summary)
}

pub(super) fn waiting_again() -> CheckWords {
    let summary = "The host that searched was not heard of any more. What it had measured is kept: \
                   the next one goes on from there.";
    CheckWords::new("Waiting for a GPU again", summary.to_owned())
}

pub(super) fn postponed(reason: &str) -> CheckWords {
    let summary =
        format!("{}\n\nWhat was measured is kept: the search goes on from there.", escaped(reason));
    CheckWords::new("Waiting for a GPU again", summary)
}

pub(super) fn begun(kernels: &[KernelOrder]) -> CheckWords {
    let names: Vec<String> = kernels.iter().map(|kernel| escaped(&kernel.name)).collect();
    CheckWords::new("Preparing", format!("Checked out; {} to search.", names.join(", ")))
}

pub(super) fn progress(progress: &Progress) -> CheckWords {
    let text::CheckText { title, summary } = text::check_output(progress);
    CheckWords { title, summary, text: None }
}

/// A job that ended before there were results.
pub(super) fn ended(to: JobState, reason: &str) -> CheckWords {
    let title = match to {
        JobState::Superseded => "A newer commit came",
        JobState::Cancelled => "Cancelled",
        _ => "The search could not be carried out",
    };
    let mut summary = escaped(reason);
    if to == JobState::Failed {
        summary.push_str("\n\n\"Run again\" begins another search of this commit.");
    }
    CheckWords::new(title, summary)
}

/// How the check run of a measured job ends.
pub(super) fn conclusion(
    job: &Job,
    results: &Results,
    delivery: &Delivery,
) -> (CheckStage, CheckWords) {
    let told = told(results, delivery, &Texts::new());
    let (conclusion, text::CheckText { title, summary }) =
        text::check_conclusion(&facts(job), &told);
    let stage = match conclusion {
        Conclusion::Success => CheckStage::Success,
        Conclusion::Neutral => CheckStage::Neutral,
        Conclusion::Failure => CheckStage::Failure,
    };
    (stage, CheckWords { title, summary, text: None })
}

/// The one comment with a job's results.
pub(super) fn result(job: &Job, results: &Results, delivery: &Delivery, texts: &Texts) -> String {
    let key = Key::Result { pull: job.new.pull, sha: job.new.head_sha.clone() };
    let told = told(results, delivery, texts);
    marked(&key, &text::result_comment(&facts(job), &told))
}

/// The body of the review that suggests the kernels at `offered`, with so many suggestions each.
pub(super) fn review(
    marker: &str,
    job: &Job,
    results: &Results,
    offered: &[(usize, usize)],
) -> String {
    let told = told(results, &Delivery::default(), &Texts::new());
    let kernels: Vec<ReviewedKernel<'_>> = offered
        .iter()
        .filter_map(|(index, suggestions)| {
            let (result, _) = told.get(*index)?;
            Some(ReviewedKernel { result, suggestions: *suggestions })
        })
        .collect();
    let body = text::review_body(&facts(job), &kernels);
    let rest = body.split_once('\n').map_or(body.as_str(), |(_, rest)| rest);
    format!("{marker}\n{rest}")
}

/// What stands before one of several suggestions.
pub(super) fn part(kernel: &str, part: usize, parts: usize) -> String {
    text::suggestion_prose(kernel, part, parts)
}

/// Title and body of a pull request into the pull request's branch.
pub(super) fn stacked_pull(
    marker: &str,
    job: &Job,
    results: &Results,
    kernels: &[(usize, String)],
) -> (String, String) {
    let chosen = kernels.iter().filter_map(|(index, _)| results.kernels.get(*index));
    let names: Vec<&str> = chosen.map(|kernel| kernel.name.as_str()).collect();
    let title = format!("Faster {} for #{}", short(&names.join(", ")), job.new.pull.number);
    let mut body = format!(
        "{marker}\nThe verified result of a search for #{}, measured at commit `{}`. Merging this puts \
         it on that pull request's branch.\n",
        job.new.pull.number, job.new.head_sha
    );
    for (index, why) in kernels {
        if let Some(kernel) = results.kernels.get(*index) {
            body.push_str(&format!(
                "\n- {}: not a suggestion, because {}.",
                escaped(&kernel.name),
                escaped(why)
            ));
        }
    }
    (title, body)
}

/// The message of a commit with the verified kernels; `by` asked for it.
pub(super) fn commit_message(job: &Job, results: &Results, by: Option<&str>) -> String {
    let mut lines = Vec::new();
    let mut names = Vec::new();
    for kernel in results.verified() {
        let name = short(&kernel.name);
        let ratio = kernel.report.as_ref().and_then(|report| report.speedup.vs_baseline);
        if let (Some(ratio), Some(report)) = (ratio, &kernel.report) {
            lines.push(format!(
                "{name}: {:.2}x (95 % interval {:.2} to {:.2}) on {}, {} verified",
                ratio.median,
                ratio.low,
                ratio.high,
                short(&report.device.name),
                count(report.cases.len(), "case"),
            ));
        }
        names.push(name);
    }
    let mut message = format!("Make {} faster\n\n", short(&names.join(", ")));
    message.push_str(&lines.join("\n"));
    message.push_str(&format!("\n\nMeasured at {}, job {}.", job.new.head_sha, job.new.id));
    if let Some(by) = by {
        message.push_str(&format!("\nAsked for by {}.", short(by)));
    }
    message
}

pub(super) fn misunderstood(error: &CommandError, by: &str) -> String {
    let asked = Asked { key: "", by };
    with_commands(|commands| text::help(asked, Some(&error.to_string()), commands))
}

pub(super) fn help(by: &str) -> String {
    with_commands(|commands| text::help(Asked { key: "", by }, None, commands))
}

fn with_commands(render: impl FnOnce(&[CommandHelp<'_>]) -> String) -> String {
    let usages: Vec<String> = COMMANDS
        .iter()
        .map(|it| format!("{PREFIX} {} {}", it.name, it.arguments).trim_end().to_owned())
        .collect();
    let commands: Vec<CommandHelp<'_>> = usages
        .iter()
        .zip(&COMMANDS)
        .map(|(usage, it)| CommandHelp { usage, what: it.what })
        .collect();
    render(&commands)
}

/// What is queued, under way and done; `queue` are all jobs that wait, the next one first.
pub(super) fn status(jobs: &[Job], queue: &[JobId], by: &str) -> String {
    let jobs: Vec<JobStatus> = jobs
        .iter()
        .map(|job| JobStatus {
            job: job.new.id.to_string(),
            head_sha: job.new.head_sha.clone(),
            state: job.state.name().to_owned(),
            requested_by: job.new.requested_by.clone(),
            ahead: queue.iter().position(|waiting| *waiting == job.new.id),
            progress: (job.state == JobState::Running)
                .then(|| serde_json::from_value(job.progress.clone()).ok())
                .flatten(),
            reason: job.reason.clone(),
        })
        .collect();
    text::status(Asked { key: "", by }, &jobs)
}

pub(super) fn nothing_to_cancel() -> String {
    "No search of this pull request is queued or under way.".to_owned()
}

pub(super) fn nothing_to_commit() -> String {
    "No verified kernel is there to commit: search first with `/kernelbrain optimize`.".to_owned()
}

pub(super) fn cannot_commit_to_fork() -> String {
    "This pull request comes from another repository, where this App may not write: apply the suggestion \
     or the patch."
        .to_owned()
}

/// A job that a person asked for came to nothing.
pub(super) fn failed(job: &Job, reason: &str) -> String {
    format!(
        "**The search of commit `{}` could not be carried out.** {}\n\nPress \"Run again\" at the check \
         run to try once more.",
        short(&job.new.head_sha),
        escaped(reason)
    )
}

/// What came of `/kernelbrain commit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Committed {
    Done { commit: String },
    Already,
    Nothing,
    FileChanged { path: String },
    Refused { message: String },
}

pub(super) fn committed(said: &Committed) -> String {
    match said {
        Committed::Done { commit } => {
            format!("The verified kernel is on this pull request's branch: {commit}")
        }
        Committed::Already => {
            "The verified kernel is on this pull request's branch already.".to_owned()
        }
        Committed::Nothing => nothing_to_commit(),
        Committed::FileChanged { path } => format!(
            "{} has changed since it was measured, so what was verified is not what would be committed. \
             Search again with `/kernelbrain optimize`.",
            escaped(path)
        ),
        Committed::Refused { message } => format!(
            "GitHub did not take the commit: {}. Is the branch protected, or did somebody push just now?",
            escaped(message)
        ),
    }
}

fn facts(job: &Job) -> PullRequestFacts {
    PullRequestFacts {
        repository: job.new.repository.clone(),
        number: job.new.pull.number,
        head_sha: job.new.head_sha.clone(),
        job: job.new.id.to_string(),
        requested_by: job.new.requested_by.clone(),
        details: None,
        fork: order_of(job).is_ok_and(|order| order.fork.is_some()),
    }
}

/// Results as texts know them.
fn told(results: &Results, delivery: &Delivery, texts: &Texts) -> Vec<(KernelResult, Delivered)> {
    let kernels = results.kernels.iter().enumerate();
    kernels
        .map(|(index, kernel)| {
            let delivered = delivery.kernels.get(index).unwrap_or(&order::Delivered::Nothing);
            let text = |hash: &Option<String>| texts.get(hash.as_ref()?).cloned();
            let (old, new) = (text(&kernel.baseline), text(&kernel.verified));
            let mut result = kernel_result(kernel);
            if let Some(report) = &mut result.report {
                report.baseline_source = old.clone().unwrap_or_default();
                report.best_source.clone_from(&new);
            }
            let shown = match delivered {
                order::Delivered::Nothing => Delivered::Nothing,
                order::Delivered::Suggestion { url } => Delivered::Suggestion { url: url.clone() },
                order::Delivered::Branch { branch, pull, url, instead } => {
                    result.notes.push(format!("A branch and not a suggestion, because {instead}."));
                    let (branch, url) = (branch.clone(), url.clone());
                    Delivered::Branch { branch, pull: *pull, url }
                }
                order::Delivered::Patch { instead } => {
                    result.notes.push(format!("A patch and not a suggestion, because {instead}."));
                    match old.zip(new) {
                        Some((old, new)) => {
                            Delivered::Patch(patch::unified(&kernel.source, &old, &new))
                        }
                        None => Delivered::Patch(String::new()),
                    }
                }
            };
            (result, shown)
        })
        .collect()
}

fn kernel_result(kernel: &KernelOutcome) -> KernelResult {
    KernelResult {
        name: kernel.name.clone(),
        source: kernel.source.clone(),
        report: kernel.report.as_deref().cloned(),
        failure: kernel.failure.clone(),
        tests: kernel
            .tests
            .clone()
            .filter(|_| kernel.verified.is_some())
            .map(|command| TestsPassed { command, seconds: None }),
        notes: kernel.notes.clone(),
    }
}

/// One short line of plain text, which mentions nobody and no issue.
fn short(text: &str) -> String {
    let clean = crate::report::cleaned(text);
    let plain = |c: char| if c.is_control() || matches!(c, '@' | '#') { ' ' } else { c };
    clean.chars().map(plain).take(80).collect()
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
