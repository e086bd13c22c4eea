//! What became of the candidates on each rung, all bars on one scale.

use crate::report::{RungRow, format};

/// Pixels from one rung to the next.
const ROW: usize = 62;

#[derive(Debug)]
pub(in crate::report) struct Funnel {
    pub(in crate::report) rungs: Vec<Rung>,
    pub(in crate::report) height: usize,
}

#[derive(Debug)]
pub(in crate::report) struct Rung {
    pub(in crate::report) title: String,
    pub(in crate::report) detail: String,
    pub(in crate::report) top: usize,
    pub(in crate::report) parts: Vec<Part>,
}

/// A stretch of a bar, in percent of the width.
#[derive(Debug)]
pub(in crate::report) struct Part {
    pub(in crate::report) class: &'static str,
    pub(in crate::report) start: f64,
    pub(in crate::report) width: f64,
}

impl Funnel {
    /// `None` when no candidate entered a rung.
    pub(in crate::report) fn of(rungs: &[RungRow]) -> Option<Self> {
        let most = rungs.iter().map(|rung| rung.entered).max().filter(|most| *most > 0)?;
        let rungs: Vec<Rung> =
            rungs.iter().enumerate().map(|(row, rung)| bar(rung, row * ROW, most)).collect();
        Some(Self { height: rungs.len() * ROW, rungs })
    }
}

fn bar(rung: &RungRow, top: usize, most: usize) -> Rung {
    let pruned = rung.measured.saturating_sub(rung.promoted);
    let counts = [("promoted", rung.promoted), ("pruned", pruned), ("rejected", rung.rejected)];
    let known: usize = counts.iter().map(|(_, count)| count).sum();
    let open = rung.entered.saturating_sub(known);
    let mut start = 0.0;
    let mut parts = Vec::new();
    let mut detail = Vec::new();
    for (class, count) in counts.into_iter().chain([("unfinished", open)]) {
        if count > 0 {
            let width = share(count, most);
            parts.push(Part { class, start, width });
            detail.push(format!("{count} {class}"));
            start += width;
        }
    }
    Rung {
        title: format!("Rung {}: {} entered", rung.index, format::count(rung.entered, "candidate")),
        detail: detail.join(" · "),
        top,
        parts,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of candidates")]
fn share(count: usize, most: usize) -> f64 {
    count as f64 / most as f64 * 100.0
}
