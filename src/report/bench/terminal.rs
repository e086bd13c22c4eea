//! The table of `kernelbrain bench` on a terminal.

use super::{BenchCase, BenchReport, BenchResult, BenchVerdict};
use crate::kernel::Ratio;
use crate::report::{
    clean::text as clean_text,
    format,
    terminal::{BOLD, DIM, GREEN, Page, RED, Style, YELLOW},
};

/// The whole page, with a final newline.
pub fn render(report: &BenchReport, style: Style) -> String {
    let width = style.width.max(40);
    let mut page = Page::new(style);
    page.wrapped(&clean_text(&report.device), width, "", BOLD);
    if report.interpreted && timed(report) {
        let notice = "Triton's interpreter stands in for a GPU here: verdicts hold, times do not.";
        page.wrapped(notice, width, "", YELLOW);
    }
    for result in &report.results {
        page.blank();
        file(&mut page, result, width, report.interpreted);
    }
    if !report.notes.is_empty() {
        page.blank();
    }
    for note in &report.notes {
        page.wrapped(&format!("note: {}", clean_text(note)), width, "", DIM);
    }
    if report.results.len() > 1 {
        let all = report.results.len();
        let good = report.results.iter().filter(|it| it.verdict == BenchVerdict::Accepted).count();
        page.blank();
        let colour = if good == all { GREEN } else { RED };
        page.line(&format!("{good} of {} accepted", format::count(all, "file")), colour);
    }
    page.text()
}

fn timed(report: &BenchReport) -> bool {
    report.results.iter().flat_map(|result| &result.cases).any(|case| case.latency_us.is_some())
}

fn file(page: &mut Page, result: &BenchResult, width: usize, interpreted: bool) {
    let name = clean_text(&result.file);
    match result.verdict {
        BenchVerdict::Accepted => {
            // A ratio of times in the interpreter is none to head a verdict with.
            let words = if interpreted { "accepted".into() } else { summary(result) };
            page.wrapped(&format!("✓ {name}  {words}"), width, "", GREEN)
        }
        BenchVerdict::Rejected => {
            let gate = result.gate.map_or_else(String::new, |gate| format!(" by the {gate} gate"));
            page.wrapped(&format!("✗ {name}  rejected{gate}"), width, "", RED);
            let reason = result.reason.as_deref().unwrap_or_default();
            page.wrapped(&clean_text(reason), width, "  ", "");
            place(page, result, width);
        }
    }
    if result.cases.iter().any(|case| case.latency_us.is_some()) {
        page.table(&table(result), width);
    }
    for note in &result.notes {
        page.wrapped(&clean_text(note), width, "  ", DIM);
    }
}

/// The verdict's most important number, where there is one.
fn summary(result: &BenchResult) -> String {
    let against = [
        ("the baseline", &result.vs_baseline),
        ("eager PyTorch", &result.vs_eager),
        ("torch.compile", &result.vs_compile),
    ];
    let parts: Vec<String> = against
        .iter()
        .filter_map(|(what, ratio)| Some((what, ratio.as_ref()?)))
        .map(|(what, ratio)| format!("{} {what}", format::times(ratio.median)))
        .collect();
    if parts.is_empty() { "accepted".into() } else { format!("accepted, {}", parts.join(", ")) }
}

/// Case and line of the evidence.
fn place(page: &mut Page, result: &BenchResult, width: usize) {
    let Some(evidence) = &result.evidence else { return };
    let case = evidence.case.as_ref().map(|case| format!("case {case}"));
    let line = evidence.line.map(|line| {
        let source = evidence.source.as_deref().unwrap_or_default();
        format!("line {line}: {source}")
    });
    let parts: Vec<String> = case.into_iter().chain(line).collect();
    if !parts.is_empty() {
        page.wrapped(&clean_text(&parts.join(", ")), width, "  ", DIM);
    }
}

/// A column: its title and what it shows of a case, if anything.
type Column = (&'static str, fn(&BenchCase) -> Option<String>);

const COLUMNS: [Column; 11] = [
    ("time", |case| case.latency_us.map(format::time)),
    ("baseline", |case| case.baseline_us.map(format::time)),
    ("speedup", |case| case.vs_baseline.as_ref().map(|it| format::times(it.median))),
    ("95 % interval", |case| case.vs_baseline.as_ref().map(format::interval)),
    ("eager", |case| case.eager_us.map(format::time)),
    ("over eager", |case| case.vs_eager.as_ref().map(with_interval)),
    ("compile", |case| case.compile_us.map(format::time)),
    ("over compile", |case| case.vs_compile.as_ref().map(with_interval)),
    ("× light", |case| case.headroom.map(format::times)),
    ("backward", |case| case.backward_us.map(format::time)),
    ("error", |case| case.error.map(|error| format!("{error:.2}"))),
];

fn with_interval(ratio: &Ratio) -> String {
    format!("{} ({})", format::times(ratio.median), format::interval(ratio))
}

/// Header and one row a case; columns that no case has are left out.
fn table(result: &BenchResult) -> Vec<Vec<String>> {
    let used: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, show)| result.cases.iter().any(|case| show(case).is_some()))
        .collect();
    let titles = std::iter::once("case").chain(used.iter().map(|(title, _)| *title));
    let mut rows = vec![titles.map(String::from).collect()];
    for case in &result.cases {
        let name = format::shorten(&clean_text(&case.case).replace('\n', " "), 28);
        let cells =
            used.iter().map(|(_, show)| show(case).unwrap_or_else(|| format::NOTHING.into()));
        rows.push(std::iter::once(name).chain(cells).collect());
    }
    rows
}
