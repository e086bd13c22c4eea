//! Best speedup over time, as steps.

use super::scale::{Scale, Tick};
use crate::report::{Report, format};

#[derive(Debug)]
pub(in crate::report) struct Trajectory {
    /// Straight pieces of the line; all in percent, y from the top.
    pub(in crate::report) pieces: Vec<Piece>,
    pub(in crate::report) steps: Vec<Step>,
    pub(in crate::report) x_ticks: Vec<Tick>,
    pub(in crate::report) y_ticks: Vec<Tick>,
    pub(in crate::report) x_title: &'static str,
}

#[derive(Debug)]
pub(in crate::report) struct Piece {
    pub(in crate::report) x1: f64,
    pub(in crate::report) y1: f64,
    pub(in crate::report) x2: f64,
    pub(in crate::report) y2: f64,
}

/// A new best.
#[derive(Debug)]
pub(in crate::report) struct Step {
    pub(in crate::report) x: f64,
    pub(in crate::report) y: f64,
    /// Shown when pointed at.
    pub(in crate::report) title: String,
}

impl Trajectory {
    /// `None` when nothing was measured. Starts at the baseline, 1×.
    pub(in crate::report) fn of(report: &Report) -> Option<Self> {
        let finite = |seconds: f64, speedup: f64| seconds.is_finite() && speedup.is_finite();
        let points: Vec<_> = report
            .trajectory
            .iter()
            .filter(|point| finite(point.wall_seconds, point.speedup))
            .collect();
        let last = points.last()?.wall_seconds;
        let end = report.budget.wall_seconds_spent.max(last).max(1e-3);
        let (unit, x_title) = match end {
            _ if end < 180.0 => (1.0, "wall time, seconds"),
            _ if end < 10_800.0 => (60.0, "wall time, minutes"),
            _ => (3600.0, "wall time, hours"),
        };
        let speedups = || points.iter().map(|point| point.speedup);
        let across = Scale::around(0.0, end / unit, 5.0);
        let up = Scale::around(
            speedups().fold(1.0, f64::min),
            speedups().fold(1.0, f64::max).max(1.05),
            4.0,
        );
        let x = |seconds: f64| across.at(seconds / unit);
        let y = |speedup: f64| 100.0 - up.at(speedup);

        let (mut pieces, mut steps) = (Vec::new(), Vec::new());
        let (mut from_x, mut from_y) = (0.0, y(1.0));
        for point in points {
            let (to_x, to_y) = (x(point.wall_seconds), y(point.speedup));
            pieces.push(Piece { x1: from_x, y1: from_y, x2: to_x, y2: from_y });
            pieces.push(Piece { x1: to_x, y1: from_y, x2: to_x, y2: to_y });
            steps.push(Step { x: to_x, y: to_y, title: title(report, point) });
            (from_x, from_y) = (to_x, to_y);
        }
        pieces.push(Piece { x1: from_x, y1: from_y, x2: x(end), y2: from_y });
        let y_ticks = up.ticks("×").into_iter().map(|tick| Tick { at: 100.0 - tick.at, ..tick });
        Some(Self { pieces, steps, x_ticks: across.ticks(""), y_ticks: y_ticks.collect(), x_title })
    }
}

fn title(report: &Report, point: &crate::report::TrajectoryPoint) -> String {
    let origin = report.candidates.iter().find(|row| row.id == point.candidate);
    let origin = origin.map_or(point.candidate.as_str(), |row| row.origin.as_str());
    let (speedup, moment) = (format::times(point.speedup), format::seconds(point.wall_seconds));
    format!("{speedup} after {moment}: {}", format::shorten(origin, 120))
}
