//! The parts of a result, each as a whole.

use askama::Template;

use super::{
    KernelResult,
    fit::{self, Priority, Section},
    funnel,
    verdict::Ending,
};
use crate::report::{
    CandidateRow, CaseRow, Report, TrajectoryPoint,
    escape::{self, fence, span},
    format, known, light,
    light::LightRow,
    markdown,
    patch::unified,
    profile::Profiles,
    ranking::{self, Rejections},
    reviews::{self, Reviewed},
    story,
};

/// Cases in sight; the others are folded.
const CASES: usize = 6;
/// Steps of the way to the winner.
const STEPS: usize = 15;

#[derive(Template)]
#[template(path = "pull_request/core.md")]
struct Core<'r> {
    result: &'r KernelResult,
    /// Where there are several kernels.
    heading: Option<String>,
    notice: Option<&'static str>,
    caution: Option<String>,
    comparisons: Option<String>,
    cases: &'r [CaseRow],
    more_cases: usize,
    noise: Option<String>,
    tests: Option<String>,
}

#[derive(Template)]
#[template(path = "pull_request/cases.md")]
struct Cases<'r> {
    cases: &'r [CaseRow],
}

#[derive(Template)]
#[template(path = "pull_request/light.md")]
struct Light<'r> {
    light: Vec<LightRow<'r>>,
}

#[derive(Template)]
#[template(path = "pull_request/rungs.md")]
struct Rungs<'r> {
    report: &'r Report,
    chart: String,
    rejections: Vec<Rejections<'r>>,
}

#[derive(Template)]
#[template(path = "pull_request/profile.md")]
struct ProfilePart<'r> {
    profile: Profiles<'r>,
}

#[derive(Template)]
#[template(path = "pull_request/moves.md")]
struct Moves<'r> {
    moves: &'r [String],
    steps: Vec<(&'r TrajectoryPoint, &'r CandidateRow)>,
    facts: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "pull_request/contract.md")]
struct Contract<'r> {
    report: &'r Report,
}

#[derive(Template)]
#[template(path = "pull_request/reviews.md")]
struct Reviews<'r> {
    reviews: Vec<Reviewed<'r>>,
}

#[derive(Template)]
#[template(path = "pull_request/environment.md")]
struct Environment<'r> {
    report: &'r Report,
    ceilings: Option<String>,
    fence: String,
    /// One line.
    command: String,
}

#[derive(Template)]
#[template(path = "pull_request/spend.md")]
struct Spend<'r> {
    budget: Vec<String>,
    /// Why the search ended before its budget did.
    stopped: Option<&'r str>,
    generation: Option<String>,
    details: Vec<String>,
}

/// Everything about a kernel but its verdict, in the order of reading.
pub(super) fn of(result: &KernelResult, headed: bool) -> Vec<Section> {
    let name = result.name.as_str();
    let core = rendered(&core(result, headed));
    let mut sections = Vec::new();
    if !core.trim().is_empty() {
        sections.push(Section::new(Priority::Core, "the cases", name, &core));
    }
    let Some(report) = &result.report else { return sections };
    let mut fold = |priority, what: &str, summary: &str, text: String| {
        // Of several kernels, a reader must see whose section it is.
        let summary = if headed { format!("{summary} ({})", html(name)) } else { summary.into() };
        sections.push(Section::folded(priority, what, name, &summary, &text));
    };
    let shown = shown_cases(report);
    if report.cases.len() > shown {
        let rest = Cases { cases: &report.cases[shown..] };
        let summary = match shown {
            0 => format::count(report.cases.len(), "case"),
            _ => format!("{} more cases", report.cases.len() - shown),
        };
        fold(Priority::MoreCases, "the other cases", &summary, rendered(&rest));
    }
    if !report.audit.passed.is_empty() || !report.warnings.is_empty() {
        let contract = rendered(&Contract { report });
        fold(Priority::Contract, "the warnings", "Warnings and the contract's holes", contract);
    }
    if !report.rungs.is_empty() {
        let (chart, rejections) = (funnel::mermaid(&report.rungs), ranking::rejections(report));
        let rungs = Rungs { report, chart, rejections };
        fold(Priority::Rungs, "the rungs", "Rung by rung", rendered(&rungs));
    }
    if let Some(profile) = Profiles::of(report) {
        let summary = match profile.sides.len() {
            2 => "Profile before and after",
            _ => "Profile",
        };
        fold(Priority::Profile, "the profile", summary, rendered(&ProfilePart { profile }));
    }
    let light = light::rows(report);
    if !light.is_empty() {
        let summary = "Distance to the speed of light";
        fold(Priority::MoreCases, "the speed of light", summary, rendered(&Light { light }));
    }
    if Ending::of(result) == Ending::Faster {
        fold(Priority::Moves, "the moves", "Moves that led there", rendered(&moves(report)));
    }
    let reviews = reviews::of(report);
    if !reviews.is_empty() {
        let reviews = rendered(&Reviews { reviews });
        fold(Priority::Review, "the review", "What a second model says", reviews);
    }
    let command = format::shorten(&report.run.command.replace('\n', " "), 2000);
    // Nothing in a fence is taken for one of our markers either.
    let command = command.replace("<!--", "<! --");
    let (ceilings, fence) = (light::ceilings(report), fence(&command));
    let environment = Environment { report, ceilings, fence, command };
    let summary = "Environment, and the command that repeats it";
    fold(Priority::Environment, "the environment", summary, rendered(&environment));
    let spend = Spend {
        budget: format::budget(report),
        stopped: report.budget.stopped.as_deref(),
        generation: format::generation(report),
        details: format::generation_details(report),
    };
    fold(Priority::Spend, "the spend", "What it cost", rendered(&spend));
    sections
}

/// The patch as it is applied, byte for byte.
pub(super) fn patch(result: &KernelResult, patch: &str) -> Section {
    let fence = fence(patch);
    let newline = if patch.ends_with('\n') { "" } else { "\n" };
    let text = format!(
        "Save it as `kernelbrain.patch`, then `git apply kernelbrain.patch` on the pull request's \
         branch.\n\n{fence}diff\n{patch}{newline}{fence}"
    );
    let summary = format!("Patch for {}", html(&result.source));
    Section::folded(Priority::Patch, "the patch", &result.name, &summary, &text)
}

fn core(result: &KernelResult, headed: bool) -> Core<'_> {
    let report = result.report.as_ref();
    let story = report.map(story::tell);
    let cases = report.map_or(&[][..], |report| &report.cases[..shown_cases(report)]);
    let faster = Ending::of(result) == Ending::Faster;
    let headed = headed && (report.is_some() || !result.notes.is_empty());
    Core {
        result,
        heading: headed.then(|| {
            let changed = report.filter(|_| faster).and_then(changed_lines);
            format!(
                "### {}{}",
                span(&format::shorten(&result.name, 80)),
                changed.unwrap_or_default()
            )
        }),
        notice: story.as_ref().and_then(|story| story.notice),
        caution: story.and_then(|story| story.caution),
        comparisons: report.filter(|_| faster).and_then(markdown::comparisons),
        more_cases: report.map_or(0, |report| report.cases.len() - cases.len()),
        cases,
        noise: report.filter(|_| faster).map(noise),
        tests: faster.then(|| tests(result)),
    }
}

/// Cases in sight: of a kernel that stayed as it was, none.
fn shown_cases(report: &Report) -> usize {
    let improved = report.outcome == crate::report::OutcomeKind::Improved;
    if improved { report.cases.len().min(CASES) } else { 0 }
}

/// ` (+2 −2 lines)`.
fn changed_lines(report: &Report) -> Option<String> {
    let best = report.best_source.as_deref()?;
    let patch = unified("kernel", &report.baseline_source, best);
    let count = |sign: char| patch.lines().skip(2).filter(|line| line.starts_with(sign)).count();
    Some(format!(" (+{} −{} lines)", count('+'), count('-')))
}

/// On how many rounds the intervals rest, and what noise alone does.
fn noise(report: &Report) -> String {
    let rounds = report.cases.iter().filter_map(|case| case.rounds).min();
    let rounds = rounds.or(report.speedup.vs_baseline.map(|ratio| ratio.rounds));
    let floor = report
        .cases
        .iter()
        .filter_map(|case| case.noise)
        .fold(None, |most, noise| Some(most.map_or(noise, |most: f64| most.max(noise))));
    let floor = match floor.filter(|floor| floor.is_finite()) {
        Some(floor) => format!("the noise floor is {:.2} % from round to round", 100.0 * floor),
        None => "the noise floor was not measured".to_owned(),
    };
    match rounds {
        Some(rounds) => format!("n = {rounds} paired rounds a case; {floor}."),
        None => format!("The number of rounds is not known; {floor}."),
    }
}

/// Whether the last gate was there.
fn tests(result: &KernelResult) -> String {
    match &result.tests {
        Some(tests) => {
            let seconds = tests.seconds.map(|seconds| format!(" ({})", format::seconds(seconds)));
            format!(
                "The repository's own tests passed with it: {}{}.",
                span(&format::shorten(&tests.command, 200)),
                seconds.unwrap_or_default()
            )
        }
        None => "The repository's own tests were not run: the kernel names none (`tests` in \
                 `kernelbrain.toml`)."
            .to_owned(),
    }
}

fn moves(report: &Report) -> Moves<'_> {
    let steps = report.trajectory.iter().filter_map(|point| {
        let row = report.candidates.iter().find(|row| row.id == point.candidate)?;
        Some((point, row))
    });
    let steps: Vec<_> = steps.collect();
    Moves {
        moves: report.best.as_ref().map_or(&[], |best| &best.moves),
        steps: steps[steps.len().saturating_sub(STEPS)..].to_vec(),
        facts: known::facts(report.best.as_ref()),
    }
}

fn rendered(template: &impl Template) -> String {
    let failed = |error| format!("This section could not be written: {error}.");
    template.render().unwrap_or_else(failed)
}

/// For a summary, where Markdown is not read: one line of code.
fn html(text: &str) -> String {
    let text = format::shorten(&text.replace(['\n', '\t'], " "), 80);
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<code>{escaped}</code>")
}
