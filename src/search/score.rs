//! What a measurement is worth.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::kernel::{Case, Evaluation, geometric_mean};

/// The constants of the paper's eq. 2. They separate candidates of equal latency on different
/// rungs and are small enough never to outweigh a latency that differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreWeights {
    /// Per rung climbed.
    pub alpha: f64,
    /// Per unit of the rung's budget: timed launches of one evaluation.
    pub beta: f64,
}

impl Default for ScoreWeights {
    fn default() -> Self {
        Self { alpha: 1e-3, beta: 1e-6 }
    }
}

impl ScoreWeights {
    /// `S(p, r) = 1e6 / max(1, latency_us) + alpha * r + beta * b_r`: executions a second, and a
    /// little for fidelity (KernelBrain, eq. 2).
    pub fn score(&self, latency_us: f64, rung: usize, rung_budget: f64) -> f64 {
        1e6 / latency_us.max(1.0) + self.alpha * rung as f64 + self.beta * rung_budget
    }
}

/// Case-weighted geometric mean of the evaluation's latencies, microseconds, of one that ended early
/// the latency of the case that it ended at; `None` when nothing sensible was measured.
pub fn latency_us(evaluation: &Evaluation, cases: &[Case]) -> Option<f64> {
    geometric_mean(
        cases.iter().filter(|case| counts(evaluation, case)).filter_map(|case| {
            evaluation.latency_us(&case.name).map(|latency| (latency, case.weight))
        }),
    )
}

/// Weighted mean log ratio of the baseline's latency to the candidate's over the cases that both
/// measured: above 0 is faster than the baseline. Where the baseline took part in the candidate's
/// own rounds, its time there counts, so that a device that runs faster or slower by now does not.
/// Comparable across rungs. `None` when they share no case.
///
/// Within a rung, where all measure the same cases, it orders candidates as the score does. What
/// ended early at a case is as fast as it was there: it cannot win by the others.
pub fn log_ratio(candidate: &Evaluation, baseline: &Evaluation, cases: &[Case]) -> Option<f64> {
    geometric_mean(cases.iter().filter(|case| counts(candidate, case)).filter_map(|case| {
        let measured = candidate.case(&case.name)?;
        let against = baseline.latency_us(&case.name)?;
        Some((measured.baseline_us.unwrap_or(against) / measured.latency_us, case.weight))
    }))
    .map(f64::ln)
}

fn counts(evaluation: &Evaluation, case: &Case) -> bool {
    evaluation.ended_at.as_ref().is_none_or(|at| *at == case.name)
}

/// Where a result stands among others, the best first: by log ratio to the baseline, and of
/// equals the candidate that was added first.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Natural logarithm of the speedup; negative infinity where no case was measured.
    pub log_ratio: f64,
    /// Position of the candidate in the order in which the run's candidates were added.
    pub number: usize,
}

impl Place {
    pub fn speedup(&self) -> f64 {
        self.log_ratio.exp()
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        other.log_ratio.total_cmp(&self.log_ratio).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Place {}
