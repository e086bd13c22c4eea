//! Everything that a review is asked about.

use std::sync::Arc;

use serde::Serialize;

use crate::kernel::{Bound, Contract, Profile};

/// Everything that a review is asked about. Plain data: whoever fills it does the reading.
#[derive(Clone, Debug, Serialize)]
pub struct ReviewInputs {
    /// Name of the target.
    pub target: String,
    /// Name of the file that was changed.
    pub file: String,
    /// Name of the callable that the contract calls, where it is known.
    pub entry: Option<String>,
    /// Name of the device.
    pub device: Option<String>,
    pub contract: Contract,
    /// The contract's file, with the reference.
    pub reference: Option<String>,
    /// The source as it stood.
    pub baseline: Arc<str>,
    /// The source under review.
    pub winner: Arc<str>,
    /// In the contract's order.
    pub measured: Vec<MeasuredCase>,
    /// The moves that led from the baseline to the winner, the first first.
    pub lineage: Vec<String>,
    /// The winner's.
    pub profile: Option<Profile>,
}

/// What was measured on a case, in turn with one another; microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredCase {
    pub case: String,
    pub baseline_us: f64,
    pub winner_us: f64,
    pub eager_us: Option<f64>,
    pub compile_us: Option<f64>,
    pub bound: Option<Bound>,
}
