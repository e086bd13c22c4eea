//! Speedups with their uncertainty.

use serde::{Deserialize, Serialize};

/// A paired speedup: other's time over candidate's time, so that more than 1 is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// `exp` of the median of the rounds' log ratios.
    pub median: f64,
    /// Lower end of the bootstrap 95 % interval.
    pub low: f64,
    /// Upper end of the bootstrap 95 % interval.
    pub high: f64,
    /// Rounds the interval rests on.
    pub rounds: u32,
}

/// Weighted geometric mean of positive values; `None` when there is none or a weight is not positive.
pub fn geometric_mean(weighted: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for (value, weight) in weighted {
        if !(value > 0.0 && value.is_finite() && weight > 0.0 && weight.is_finite()) {
            return None;
        }
        sum += weight * value.ln();
        total += weight;
    }
    (total > 0.0).then(|| (sum / total).exp())
}
