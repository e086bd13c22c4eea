//! An evaluation is what one candidate did on one rung.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CandidateId, Diagnosis, Profiling, Ratio, Review};

/// A check that a candidate passes or fails, with evidence; in the order they are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Static: what the source may contain.
    Policy,
    /// Imports, compiles, fits the device, ends by itself.
    Build,
    /// Computes what the contract says.
    Correctness,
    /// Is what it seems: launches its kernels, leaves its inputs alone, does not fool the clock.
    Integrity,
    /// Is faster than the baseline beyond noise.
    Performance,
    /// Passes the repository's own tests.
    RepositoryTests,
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policy => "policy",
            Self::Build => "build",
            Self::Correctness => "correctness",
            Self::Integrity => "integrity",
            Self::Performance => "performance",
            Self::RepositoryTests => "repository tests",
        })
    }
}

/// Why a candidate was rejected: evidence that a maintainer can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    pub gate: Gate,
    /// One or a few sentences that name the behaviour and the numbers.
    pub reason: String,
    /// The case on which it showed, if it did on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Line of the candidate's source, from 1, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Rejection {
    pub fn new(gate: Gate, reason: impl Into<String>) -> Self {
        Self { gate, reason: reason.into(), case: None, line: None }
    }

    #[must_use]
    pub fn on_case(mut self, case: impl Into<String>) -> Self {
        self.case = Some(case.into());
        self
    }

    #[must_use]
    pub fn at_line(mut self, line: Option<u32>) -> Self {
        self.line = line;
        self
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.gate, self.reason)?;
        if let Some(case) = &self.case {
            write!(f, " (case {case})")?;
        }
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        Ok(())
    }
}

/// How an evaluation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Accepted,
    Rejected(Rejection),
}

/// What one case took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseMeasurement {
    /// Name of the case.
    pub case: String,
    /// Device time of a call with launches queued ahead, microseconds, median.
    pub latency_us: f64,
    /// The baseline's in the same rounds, microseconds: over `latency_us` it is the paired
    /// speedup. `None` where the baseline did not take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_us: Option<f64>,
    /// Host time of a call, microseconds, median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_us: Option<f64>,
    /// Device time of the backward pass, microseconds, for contracts with gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward_us: Option<f64>,
    /// Largest deviation from the reference, in units of the tolerance (1 is the limit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// What an evaluation used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds for which it held the GPU turn.
    pub gpu_seconds: f64,
    /// Seconds from its start to its end.
    pub wall_seconds: f64,
}

/// What the compiler said about a candidate's kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildFacts {
    pub kernel: String,
    pub registers: u32,
    pub spills: u32,
    pub shared_bytes: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What one candidate did on one rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    pub candidate: CandidateId,
    pub rung: usize,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Measured cases, in the order of the rung; complete only when accepted and not ended early.
    #[serde(default)]
    pub cases: Vec<CaseMeasurement>,
    #[serde(default)]
    pub build: Vec<BuildFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    /// Rounds that were thrown away because something disturbed them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disturbed: u32,
    /// `None` where nobody asked for a profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiling: Option<Profiling>,
    #[serde(default)]
    pub cost: Cost,
    /// The candidate whose measurement this is: both are the same program, which was not measured
    /// twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_program_as: Option<CandidateId>,
    /// On the top rung: what was found out besides times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// The case after which the rest was left out: so much slower than the baseline that the
    /// candidate cannot win.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// What is known of a survivor besides its times, over the cases of the top rung.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// From the request to compile to the answer of the first call, that is compilation, loading
    /// and autotuning, milliseconds; the longest over the cases.
    #[serde(default)]
    pub first_call_ms: Option<f64>,
    /// Most device memory that a call took besides its inputs, its outputs included, bytes.
    #[serde(default)]
    pub extra_memory_bytes: Option<u64>,
    /// Whether calls on the same inputs gave the same bits.
    #[serde(default)]
    pub repeatable: Option<bool>,
    /// How accesses outside of tensors were looked for, and that none was found; or why not.
    #[serde(default)]
    pub bounds: Option<String>,
}

impl Evaluation {
    pub fn accepted(&self) -> bool {
        matches!(self.verdict, Verdict::Accepted)
    }

    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.verdict {
            Verdict::Accepted => None,
            Verdict::Rejected(rejection) => Some(rejection),
        }
    }

    /// What was measured on `case`.
    pub fn case(&self, case: &str) -> Option<&CaseMeasurement> {
        self.cases.iter().find(|m| m.case == case)
    }

    /// The latency measured on `case`, microseconds.
    pub fn latency_us(&self, case: &str) -> Option<f64> {
        self.case(case).map(|m| m.latency_us)
    }
}

/// Candidate, baseline, eager PyTorch and `torch.compile` measured in turn on one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseComparison {
    pub case: String,
    pub candidate_us: f64,
    pub baseline_us: f64,
    pub eager_us: Option<f64>,
    pub compile_us: Option<f64>,
    pub vs_baseline: Ratio,
    pub vs_eager: Option<Ratio>,
    pub vs_compile: Option<Ratio>,
    /// The best before this candidate, where there is one besides the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incumbent_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vs_incumbent: Option<Ratio>,
    /// Rounds that were thrown away because something disturbed them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disturbed: u32,
    /// Median |log ratio| of the baseline between consecutive rounds: what noise alone does.
    pub noise: f64,
}

/// The last word on a survivor: fresh seeds, fresh process, interleaved with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    pub candidate: CandidateId,
    #[serde(flatten)]
    pub verdict: Verdict,
    pub comparisons: Vec<CaseComparison>,
    /// Over all cases, weighted.
    pub vs_baseline: Option<Ratio>,
    pub vs_eager: Option<Ratio>,
    pub vs_compile: Option<Ratio>,
    pub cost: Cost,
    /// What a reader must know, for example that repository tests were run and passed.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Of an accepted candidate that no rung profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiling: Option<Profiling>,
    /// What a second language model said, where one was asked and answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
}

impl Verification {
    pub fn accepted(&self) -> bool {
        matches!(self.verdict, Verdict::Accepted)
    }
}
