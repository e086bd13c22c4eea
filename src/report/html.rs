//! `report.html`: one file, no network, no script.

use askama::Template;

use super::{
    CandidateRow, CandidateVerdict, OutcomeKind, Report,
    charts::{CaseChart, Funnel, Trajectory},
    clean::{self, clean},
    diff, format,
    highlight::{Span, Tokens},
    known,
    light::{self, LightRow},
    markdown,
    profile::Profiles,
    ranking::{self, Rejections},
    reviews::{self, Reviewed},
    story::{self, Story},
};
use crate::kernel::Ratio;

/// Longer diffs are cut: the whole patch lies beside the report.
const DIFF_LINES: usize = 2000;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'r> {
    report: &'r Report,
    story: Story,
    outcome: &'static str,
    outcome_class: &'static str,
    figures: Vec<Figure>,
    case_chart: Option<CaseChart>,
    light: Vec<LightRow<'r>>,
    ceilings: Option<String>,
    profile: Option<Profiles<'r>>,
    hunks: Vec<Hunk>,
    lines_left_out: usize,
    trajectory: Option<Trajectory>,
    funnel: Option<Funnel>,
    facts: Vec<(String, String)>,
    reviews: Vec<Reviewed<'r>>,
    standing: Vec<&'r CandidateRow>,
    rejections: Vec<Rejections<'r>>,
    budget: Vec<String>,
    generation: Option<String>,
    generation_details: Vec<String>,
}

/// A number at the head of the page.
struct Figure {
    label: &'static str,
    value: String,
    note: String,
}

struct Hunk {
    title: String,
    lines: Vec<Line>,
}

struct Line {
    class: &'static str,
    sign: char,
    old: String,
    new: String,
    spans: Vec<Span>,
}

/// The report as one HTML page.
pub fn render(report: &Report) -> Result<String, askama::Error> {
    let report = &clean(report);
    let (hunks, lines_left_out) = hunks(report);
    let (outcome, outcome_class) = match report.outcome {
        OutcomeKind::Improved => ("improved", "improved"),
        OutcomeKind::NoImprovement => ("no improvement", "no-improvement"),
        OutcomeKind::Parked => ("parked", "parked"),
        OutcomeKind::Failed => ("failed", "failed"),
    };
    let page = Page {
        story: story::tell(report),
        outcome,
        outcome_class,
        figures: figures(report),
        case_chart: CaseChart::of(&report.cases),
        light: light::rows(report),
        ceilings: light::ceilings(report),
        profile: Profiles::of(report),
        hunks,
        lines_left_out,
        trajectory: Trajectory::of(report),
        funnel: Funnel::of(&report.rungs),
        facts: known::facts(report.best.as_ref()),
        reviews: reviews::of(report),
        standing: ranking::standing(report, markdown::STANDING),
        rejections: ranking::rejections(report),
        budget: format::budget(report),
        generation: format::generation(report),
        generation_details: format::generation_details(report),
        report,
    };
    page.render()
}

fn figures(report: &Report) -> Vec<Figure> {
    let against = |label, ratio: &Option<Ratio>| {
        let ratio = ratio.as_ref()?;
        let (value, note) = (format::times(ratio.median), format::interval(ratio));
        Some(Figure { label, value, note })
    };
    let rejected = ranking::rejections(report).iter().map(|rejections| rejections.count).sum();
    let budget = &report.budget;
    let mut figures: Vec<Figure> = [
        against("over the baseline", &report.speedup.vs_baseline),
        against("over eager PyTorch", &report.speedup.vs_eager),
        against("over torch.compile", &report.speedup.vs_compile),
    ]
    .into_iter()
    .flatten()
    .collect();
    figures.push(Figure {
        label: "candidates tried",
        value: ranking::tried(report).to_string(),
        note: format!("{} rejected by a gate", none_or(rejected)),
    });
    figures.push(Figure {
        label: "time spent",
        value: format::seconds(budget.wall_seconds_spent),
        note: format!("{} evaluations", budget.evaluations_spent),
    });
    figures
}

fn none_or(count: usize) -> String {
    if count == 0 { "none".into() } else { count.to_string() }
}

/// The winner's diff, coloured, and how many of its lines were left out.
fn hunks(report: &Report) -> (Vec<Hunk>, usize) {
    let Some(new) = report.best_source.as_deref() else { return (Vec::new(), 0) };
    let old = report.baseline_source.as_str();
    let (old_text, new_text) = (Coloured::of(old), Coloured::of(new));
    let (mut shown, mut left_out, mut room) = (Vec::new(), 0, DIFF_LINES);
    for hunk in diff::hunks(old, new) {
        let lines: Vec<Line> =
            hunk.lines.iter().take(room).map(|line| show(line, &old_text, &new_text)).collect();
        room -= lines.len();
        left_out += hunk.lines.len() - lines.len();
        if !lines.is_empty() {
            shown.push(Hunk { title: title(&hunk), lines });
        }
    }
    (shown, left_out)
}

fn title(hunk: &diff::Hunk<'_>) -> String {
    format!("lines {} to {}", hunk.new.start + 1, hunk.new.end.max(hunk.new.start + 1))
}

fn show(line: &diff::Line<'_>, old: &Coloured<'_>, new: &Coloured<'_>) -> Line {
    let class = match line.sign() {
        '+' => "added",
        '-' => "removed",
        _ => "same",
    };
    let mut spans = match (line.new, line.old) {
        (Some(number), _) => new.spans(number),
        (None, Some(number)) => old.spans(number),
        (None, None) => Vec::new(),
    };
    if !line.text.ends_with('\n') {
        spans.push(Span { class: "tc", text: "  (no newline at the end of the file)".into() });
    }
    let number = |number: Option<usize>| number.map_or_else(String::new, |n| (n + 1).to_string());
    Line { class, sign: line.sign(), old: number(line.old), new: number(line.new), spans }
}

/// A source with its tokens and the places of its lines.
struct Coloured<'s> {
    source: &'s str,
    tokens: Tokens,
    /// Byte offset of each line, and of the end.
    starts: Vec<usize>,
}

impl<'s> Coloured<'s> {
    fn of(source: &'s str) -> Self {
        let mut starts = vec![0];
        let mut at = 0;
        for line in diff::lines(source) {
            at += line.len();
            starts.push(at);
        }
        Self { source, tokens: Tokens::of(source), starts }
    }

    /// Line `number`, from 0, without its newline.
    fn spans(&self, number: usize) -> Vec<Span> {
        let (Some(&start), Some(&end)) = (self.starts.get(number), self.starts.get(number + 1))
        else {
            return Vec::new();
        };
        let text = self.source.get(start..end).unwrap_or_default();
        let end = start + text.strip_suffix('\n').unwrap_or(text).len();
        let mut spans = self.tokens.spans(self.source, start..end);
        for span in &mut spans {
            span.text = clean::code(&span.text);
        }
        spans
    }
}
