//! Everything that a prompt is made of.

use std::sync::Arc;

use serde::Serialize;

use crate::generate::task::{ExpertTask, Standing};
use crate::kernel::{Arch, Bound, BuildFacts, Ceilings, Contract, Diagnosis, Profile};

/// Everything that a prompt is made of. Plain data: whoever fills it does the reading.
#[derive(Clone, Debug, Serialize)]
pub struct PromptInputs {
    /// Name of the target.
    pub target: String,
    /// Name of the file that is to be changed.
    pub file: String,
    /// Name of the callable that the contract calls, where it is known.
    pub entry: Option<String>,
    /// Top-level symbols that may change; `None` for all.
    pub editable: Option<Vec<String>>,
    pub contract: Contract,
    /// The contract's file, with the reference.
    pub reference: Option<String>,
    /// The source that is to be changed.
    pub source: Arc<str>,
    pub device: Option<Device>,
    /// Candidates run in Triton's interpreter, on the contract's small cases.
    pub interpreted: bool,
    /// Version of Triton, `3.6.0`.
    pub triton: Option<String>,
    /// In the contract's order.
    pub standings: Vec<CaseStanding>,
    pub build: Vec<BuildFacts>,
    pub diagnosis: Option<Diagnosis>,
    /// What the profiler read of this very source.
    pub profile: Option<Profile>,
    /// The ancestors of the source, the oldest first, then what else was tried from it.
    pub lineage: Vec<Tried>,
    /// What helped on such kernels, the best first.
    pub helped: Vec<Lesson>,
    /// What to avoid, and what went wrong without having been tried often enough to be avoided.
    pub avoid: Vec<Lesson>,
    /// Recipe steps that apply, one place a line.
    pub recipes: Option<String>,
    pub guidance: Vec<Guidance>,
    /// The target's own rules, in words.
    pub rules: Vec<String>,
    pub task: ExpertTask,
}

/// The GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    pub name: String,
    pub arch: Option<Arch>,
    pub multiprocessors: Option<u32>,
    pub ceilings: Ceilings,
}

/// What was measured on a case; microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CaseStanding {
    pub case: String,
    /// Of the source that is to be changed.
    pub source_us: Option<f64>,
    pub baseline_us: Option<f64>,
    /// Of the best candidate so far.
    pub best_us: Option<f64>,
    pub eager_us: Option<f64>,
    pub compile_us: Option<f64>,
    pub bound: Option<Bound>,
}

/// A move that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The move, as it prints.
    pub step: String,
    /// How it ended: `1.42 times as fast as the baseline`, `correctness: …`.
    pub outcome: String,
    /// What its author had predicted and what became of it.
    pub prediction: Option<String>,
    /// Whether the source that is to be changed contains it.
    pub contained: bool,
}

/// What experience says about a move on kernels of this kind.
#[derive(Clone, Debug, Serialize)]
pub struct Lesson {
    pub step: String,
    pub standing: Standing,
    pub tries: u32,
    pub successes: u32,
    /// Time before over time after.
    pub median_gain: Option<f64>,
    /// What was learnt, or why it fails.
    pub note: Option<String>,
}

/// What a file of the repository says about kernels.
#[derive(Clone, Debug, Serialize)]
pub struct Guidance {
    pub file: String,
    pub text: String,
}
