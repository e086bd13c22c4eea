//! `report.md`: verdict first, in GitHub's dialect.

use askama::Template;

use super::{
    CandidateRow, Report,
    clean::{self, clean},
    escape::{self, fence},
    files::PATCH,
    format, known,
    light::{self, LightRow},
    patch,
    profile::Profiles,
    ranking::{self, Rejections},
    reviews::{self, Reviewed},
    story::{self, Story},
};

/// Longer patches are cut: the whole one lies beside the report.
const PATCH_LINES: usize = 300;
/// Candidates in the table; `report.json` has them all.
pub(super) const STANDING: usize = 20;

#[derive(Template)]
#[template(path = "report.md")]
struct Page<'r> {
    report: &'r Report,
    story: Story,
    comparisons: Option<String>,
    light: Vec<LightRow<'r>>,
    ceilings: Option<String>,
    profile: Option<Profiles<'r>>,
    patch: Option<Patch>,
    facts: Vec<(String, String)>,
    reviews: Vec<Reviewed<'r>>,
    standing: Vec<&'r CandidateRow>,
    rejections: Vec<Rejections<'r>>,
    budget: Vec<String>,
    generation: Option<String>,
    generation_details: Vec<String>,
}

/// A patch inside a fence that it cannot close.
struct Patch {
    fence: String,
    /// Ends with a newline.
    text: String,
    left_out: usize,
    file: &'static str,
}

/// The report as Markdown with a final newline.
pub fn render(report: &Report) -> Result<String, askama::Error> {
    let report = &clean(report);
    let page = Page {
        story: story::tell(report),
        comparisons: comparisons(report),
        light: light::rows(report),
        ceilings: light::ceilings(report),
        profile: Profiles::of(report),
        patch: shown_patch(report),
        facts: known::facts(report.best.as_ref()),
        reviews: reviews::of(report),
        standing: ranking::standing(report, STANDING),
        rejections: ranking::rejections(report),
        budget: format::budget(report),
        generation: format::generation(report),
        generation_details: format::generation_details(report),
        report,
    };
    page.render().map(|text| text + "\n")
}

/// The winner against what else there is.
pub(super) fn comparisons(report: &Report) -> Option<String> {
    let against = [
        ("eager PyTorch", &report.speedup.vs_eager),
        ("`torch.compile`", &report.speedup.vs_compile),
    ];
    let parts: Vec<String> = against
        .into_iter()
        .filter_map(|(what, ratio)| {
            let ratio = ratio.as_ref()?;
            let (median, interval) = (format::times(ratio.median), format::interval(ratio));
            Some(format!("over {what} {median} ({interval})"))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("Speedup {}.", parts.join(", ")))
}

fn shown_patch(report: &Report) -> Option<Patch> {
    let best = report.best_source.as_deref()?;
    let whole = patch::unified(&report.target.source, &report.baseline_source, best);
    let mut lines = whole.lines();
    let text: String = lines
        .by_ref()
        .take(PATCH_LINES)
        .map(|line| clean::code(line.trim_end_matches('\r')) + "\n")
        .collect();
    let left_out = lines.count();
    (!text.is_empty()).then(|| Patch { fence: fence(&text), text, left_out, file: PATCH })
}
