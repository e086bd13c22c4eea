//! How far a search is; travels as JSON from the runner to whoever shows it.

use serde::{Deserialize, Serialize};

/// A job under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// In the order in which they are searched.
    pub kernels: Vec<KernelProgress>,
    /// Where it is measured: `NVIDIA H200`.
    pub device: Option<String>,
    /// Times are those of Triton's interpreter.
    pub interpreter: bool,
}

/// One kernel of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelProgress {
    pub name: String,
    pub phase: Phase,
    pub rungs: Vec<RungProgress>,
    /// That have been evaluated.
    pub candidates: usize,
    /// Best latency of the highest rung so far against the baseline, unverified.
    pub best_speedup: Option<f64>,
    /// Of the wall clock granted.
    pub budget_left_seconds: Option<f64>,
    pub budget_seconds: Option<f64>,
}

/// What is being done for a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Waiting,
    /// Checkout and environment.
    Preparing,
    /// The contract is audited, the baseline measured.
    Baseline,
    Searching,
    /// The best are measured again on fresh seeds, the repository's tests run.
    Verifying,
    Done,
    Failed,
    /// A phase of a newer version.
    #[serde(other)]
    Unknown,
}

impl Phase {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Preparing => "preparing",
            Self::Baseline => "measuring the baseline",
            Self::Searching => "searching",
            Self::Verifying => "verifying the best",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "at work",
        }
    }
}

/// What a rung has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RungProgress {
    pub index: usize,
    pub entered: usize,
    pub rejected: usize,
    pub measured: usize,
    pub promoted: usize,
}
