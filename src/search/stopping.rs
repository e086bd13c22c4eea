//! When more searching is not worth it: the limit is near, or nothing has become better for long.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kernel::{Case, Evaluation, geometric_mean};

/// Rules that end a search before its budget does; `None` switches one off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopRules {
    /// Stop as soon as the best runs within this factor of the speed-of-light bound.
    pub headroom: Option<f64>,
    /// Stop after this many results in a row without a new best on any rung. Candidates that were
    /// promoted by then are still evaluated.
    pub patience: Option<u64>,
}

/// A measurement this far below its bound shows that the bound is none: algebra saved operations, or
/// the contract's counts are wrong.
const CREDIBLE: f64 = 0.9;

/// How far `evaluation` is from the speed of light: the case-weighted geometric mean of measured time
/// over bound. `None` unless every case is measured and has a bound that holds.
pub fn headroom(evaluation: &Evaluation, cases: &[Case], bounds_us: &[Option<f64>]) -> Option<f64> {
    let ratios = cases.iter().enumerate().map(|(index, case)| {
        let bound = bounds_us.get(index).copied().flatten()?;
        let ratio = evaluation.latency_us(&case.name)? / bound;
        (ratio >= CREDIBLE).then_some((ratio, case.weight))
    });
    geometric_mean(ratios.collect::<Option<Vec<_>>>()?)
}

/// Why a search stopped although its budget was not spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stopped {
    /// The best, or already the baseline, runs near its speed-of-light bound.
    NearLimit { headroom: f64, at_most: f64, baseline: bool },
    /// So many results in a row brought no new best.
    NoProgress { results: u64 },
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NearLimit { headroom, at_most, baseline } => write!(
                f,
                "the search stopped because {} runs at {headroom:.3} times its speed-of-light bound \
                 (--headroom-stop {at_most})",
                if *baseline { "the baseline already" } else { "the best" }
            ),
            Self::NoProgress { results } => write!(
                f,
                "the search stopped because {results} results in a row brought no new best \
                 (--patience {results})"
            ),
        }
    }
}
