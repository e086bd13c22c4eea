//! Speedup per case: a bar from zero, its interval as a whisker, the baseline as a line at 1×.

use super::scale::{Scale, Tick};
use crate::report::{CaseRow, format};

/// Pixels from one case to the next.
const ROW: usize = 44;

#[derive(Debug)]
pub(in crate::report) struct CaseChart {
    pub(in crate::report) bars: Vec<Bar>,
    pub(in crate::report) ticks: Vec<Tick>,
    /// Where the baseline lies, in percent.
    pub(in crate::report) baseline: f64,
    /// Pixels down to the axis.
    pub(in crate::report) height: usize,
    pub(in crate::report) has_eager: bool,
    pub(in crate::report) has_compile: bool,
}

/// One case; positions across in percent, down in pixels.
#[derive(Debug)]
pub(in crate::report) struct Bar {
    pub(in crate::report) name: String,
    pub(in crate::report) label: String,
    pub(in crate::report) top: usize,
    pub(in crate::report) end: f64,
    pub(in crate::report) slower: bool,
    pub(in crate::report) interval: Option<(f64, f64)>,
    pub(in crate::report) eager: Option<f64>,
    pub(in crate::report) compile: Option<f64>,
}

impl CaseChart {
    /// `None` when no case has a speedup.
    pub(in crate::report) fn of(cases: &[CaseRow]) -> Option<Self> {
        let shown: Vec<(&CaseRow, f64)> = cases
            .iter()
            .filter_map(|case| Some((case, case.speedup.filter(|speedup| speedup.is_finite())?)))
            .collect();
        let values = shown.iter().flat_map(|(case, speedup)| {
            let others = [case.high, eager(case), compile(case)];
            std::iter::once(*speedup).chain(others.into_iter().flatten())
        });
        let highest = values.filter(|value| value.is_finite()).reduce(f64::max)?;
        let scale = Scale::around(0.0, highest.max(1.0), 5.0);
        let bars: Vec<Bar> = shown
            .iter()
            .enumerate()
            .map(|(index, (case, speedup))| Bar {
                name: format::shorten(&case.name, 24),
                label: label(case, *speedup),
                top: index * ROW,
                end: scale.at(*speedup),
                slower: *speedup < 1.0,
                interval: interval(case).map(|(low, high)| (scale.at(low), scale.at(high))),
                eager: eager(case).map(|ratio| scale.at(ratio)),
                compile: compile(case).map(|ratio| scale.at(ratio)),
            })
            .collect();
        Some(Self {
            ticks: scale.ticks("×"),
            baseline: scale.at(1.0),
            height: bars.len() * ROW + 4,
            has_eager: bars.iter().any(|bar| bar.eager.is_some()),
            has_compile: bars.iter().any(|bar| bar.compile.is_some()),
            bars,
        })
    }
}

fn label(case: &CaseRow, speedup: f64) -> String {
    let times = format::times(speedup);
    match (case.baseline_us, case.best_us) {
        (Some(before), Some(after)) => {
            format!("{} → {} · {times}", format::time(before), format::time(after))
        }
        _ => times,
    }
}

fn interval(case: &CaseRow) -> Option<(f64, f64)> {
    case.low.zip(case.high).filter(|(low, high)| low.is_finite() && high.is_finite())
}

/// How fast eager PyTorch is, the baseline being 1.
fn eager(case: &CaseRow) -> Option<f64> {
    over_baseline(case, case.eager_us)
}

fn compile(case: &CaseRow) -> Option<f64> {
    over_baseline(case, case.compile_us)
}

fn over_baseline(case: &CaseRow, us: Option<f64>) -> Option<f64> {
    let ratio = case.baseline_us? / us?;
    ratio.is_finite().then_some(ratio)
}
