//! The end of a run on a terminal: a few lines and a table.

use super::{OutcomeKind, Report, clean::clean, format, light, profile::Profiles, reviews, story};

/// How a terminal is written to.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether to use colours (not with `NO_COLOR`, not into a file).
    pub colour: bool,
    /// Columns; narrower than 40 counts as 40.
    pub width: usize,
}

pub(super) const BOLD: &str = "1";
pub(super) const DIM: &str = "2";
pub(super) const RED: &str = "31";
pub(super) const GREEN: &str = "32";
pub(super) const YELLOW: &str = "33";

/// Cases in the table; the files have them all.
const CASES: usize = 12;

/// The summary, with a final newline.
pub fn render(report: &Report, style: Style) -> String {
    let report = &clean(report);
    let story = story::tell(report);
    let width = style.width.max(40);
    let mut page = Page::new(style);
    let colour = match report.outcome {
        OutcomeKind::Improved => GREEN,
        OutcomeKind::Failed => RED,
        OutcomeKind::NoImprovement | OutcomeKind::Parked => BOLD,
    };
    page.wrapped(&story.title, width, "", colour);
    page.wrapped(&story.detail, width, "  ", "");
    for (what, ratio) in
        [("eager PyTorch", &report.speedup.vs_eager), ("torch.compile", &report.speedup.vs_compile)]
    {
        if let Some(ratio) = ratio {
            let line = format!(
                "{} over {what} ({})",
                format::times(ratio.median),
                format::interval(ratio)
            );
            page.wrapped(&line, width, "  ", "");
        }
    }
    if let Some(line) = format::generation(report) {
        page.wrapped(&line, width, "  ", DIM);
    }
    for line in format::generation_details(report) {
        page.wrapped(&line, width, "    ", DIM);
    }
    if let Some(notice) = story.notice {
        page.wrapped(notice, width, "  ", YELLOW);
    }
    if !report.cases.is_empty() {
        page.blank();
        page.table(&case_table(report), width);
        if report.cases.len() > CASES {
            page.wrapped(&format!("and {} more", report.cases.len() - CASES), width, "  ", DIM);
        }
    }
    if let Some(line) = noise(report) {
        page.wrapped(&line, width, "  ", DIM);
    }
    let light = light_table(report);
    if light.len() > 1 {
        page.blank();
        page.table(&light, width);
    }
    // That the interpreter has no counters goes without saying here.
    if let Some(profile) = Profiles::of(report).filter(|_| report.device.kind != "cpu") {
        page.profile(&profile, width);
    }
    let reviews = reviews::of(report);
    if !reviews.is_empty() {
        page.blank();
    }
    for review in &reviews {
        page.wrapped(&review.headline, width, "  ", if review.withheld { YELLOW } else { "" });
        for reason in review.reasons {
            page.wrapped(reason, width, "    ", DIM);
        }
    }
    let findings = &report.audit.passed;
    if !findings.is_empty() || !report.warnings.is_empty() {
        page.blank();
    }
    for finding in findings {
        let line = format!(
            "contract: the wrong answer \"{}\" passes on case {}. {}",
            finding.mutant, finding.case, finding.advice
        );
        page.wrapped(&line, width, "  ", YELLOW);
    }
    for warning in &report.warnings {
        page.wrapped(&format!("warning: {warning}"), width, "  ", YELLOW);
    }
    page.text
}

/// How sure the intervals are: the loudest case, and the one with the fewest rounds.
fn noise(report: &Report) -> Option<String> {
    let rounds = report.cases.iter().filter_map(|case| case.rounds).min()?;
    let noise = report.cases.iter().filter_map(|case| case.noise).max_by(f64::total_cmp)?;
    Some(format!("{rounds} rounds a case or more; noise floor {:.2} %", 100.0 * noise))
}

/// Header and rows; the first column is text, the others are numbers.
fn case_table(report: &Report) -> Vec<Vec<String>> {
    let header = ["case", "baseline", "best", "speedup", "95 % interval", "eager", "compile"];
    let rows = report.cases.iter().take(CASES).map(|case| {
        vec![
            format::shorten(&case.name.replace('\n', " "), 24),
            format::time_or_nothing(case.baseline_us),
            format::time_or_nothing(case.best_us),
            format::times_or_nothing(case.speedup),
            format::interval_or_nothing(case.low, case.high),
            format::time_or_nothing(case.eager_us),
            format::time_or_nothing(case.compile_us),
        ]
    });
    std::iter::once(header.map(String::from).to_vec()).chain(rows).collect()
}

/// Measured times over the speed-of-light bound; the header alone where no case has one.
fn light_table(report: &Report) -> Vec<Vec<String>> {
    let header =
        ["× speed of light", "baseline", "best", "eager", "compile", "bound", "limited by"];
    let rows = light::rows(report).into_iter().take(CASES).map(|row| {
        let name = format::shorten(&row.name.replace('\n', " "), 24);
        vec![name, row.baseline, row.best, row.eager, row.compile, row.bound, row.limiter]
    });
    std::iter::once(header.map(String::from).to_vec()).chain(rows).collect()
}

/// Text that grows line by line.
pub(super) struct Page {
    style: Style,
    text: String,
}

impl Page {
    /// What held the kernel back, before and after; the figures are in the files.
    fn profile(&mut self, profile: &Profiles<'_>, width: usize) {
        self.blank();
        for side in &profile.sides {
            self.wrapped(&format!("{}: {}", side.name, side.headline), width, "  ", "");
            for finding in &side.entry.diagnosis.findings {
                self.wrapped(finding, width, "    ", DIM);
            }
        }
        if let Some(note) = profile.note {
            self.wrapped(note, width, "  ", DIM);
        }
    }

    pub(super) fn new(style: Style) -> Self {
        Self { style, text: String::new() }
    }

    pub(super) fn text(self) -> String {
        self.text
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(super) fn line(&mut self, line: &str, colour: &str) {
        if self.style.colour && !colour.is_empty() {
            self.text.push_str(&format!("\u{1b}[{colour}m{line}\u{1b}[0m\n"));
        } else {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// Words in lines of at most `width` columns; a word longer than that stays whole, so that it
    /// can be copied.
    pub(super) fn wrapped(&mut self, text: &str, width: usize, indent: &str, colour: &str) {
        let mut line = String::new();
        for word in text.split_whitespace() {
            let long = columns(indent) + columns(&line) + 1 + columns(word) > width;
            if long && !line.is_empty() {
                self.line(&format!("{indent}{line}"), colour);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            self.line(&format!("{indent}{line}"), colour);
        }
    }

    /// Aligned columns; the last ones are left out where the terminal is too narrow.
    pub(super) fn table(&mut self, rows: &[Vec<String>], width: usize) {
        let mut kept = Vec::new();
        let mut used = 0;
        for column in 0..rows.first().map_or(0, Vec::len) {
            let cell = |row: &Vec<String>| row.get(column).map_or(0, |cell| columns(cell));
            let needed = rows.iter().map(cell).max().unwrap_or(0);
            used += 2 + needed;
            if used > width {
                break;
            }
            kept.push(needed);
        }
        for (number, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (index, (cell, width)) in row.iter().zip(&kept).enumerate() {
                let gap = " ".repeat(width - columns(cell));
                let (before, after) = if index == 0 { ("", gap.as_str()) } else { (&*gap, "") };
                line.push_str(&format!("  {before}{cell}{after}"));
            }
            self.line(line.trim_end(), if number == 0 { DIM } else { "" });
        }
    }
}

fn columns(text: &str) -> usize {
    text.chars().count()
}
