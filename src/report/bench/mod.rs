//! What `kernelbrain bench` found: one result a file, as people and as programs read it.

mod terminal;

use serde::Serialize;

use crate::kernel::{Bound, Gate, Ratio, Rejection};

pub use terminal::render;

/// Version of the JSON form; a reader must refuse another one.
pub const SCHEMA: u32 = 1;

/// Everything that one call of `bench` found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchReport {
    pub schema: u32,
    /// The device as its vendor calls it; as it was asked for where no file came to run.
    pub device: String,
    /// Times come from Triton's interpreter and say nothing of a GPU.
    pub interpreted: bool,
    /// One a file, in the order in which they were named.
    pub results: Vec<BenchResult>,
    /// What a reader must know of the contract and the machine.
    pub notes: Vec<String>,
}

/// What the gates say of one file, and how fast it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchResult {
    /// Path as it was given.
    pub file: String,
    pub verdict: BenchVerdict,
    /// The gate that rejected it.
    pub gate: Option<Gate>,
    pub reason: Option<String>,
    pub evidence: Option<Evidence>,
    /// Cases of the contract that were reached, in its order.
    pub cases: Vec<BenchCase>,
    /// Over all cases, weighted.
    pub vs_baseline: Option<Ratio>,
    pub vs_eager: Option<Ratio>,
    pub vs_compile: Option<Ratio>,
    /// Probes that were left out, and why.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchVerdict {
    Accepted,
    Rejected,
}

/// Where the reason for a rejection shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The case on which it showed, if it did on one.
    pub case: Option<String>,
    /// Line of the file, from 1.
    pub line: Option<u32>,
    /// What stands on that line.
    pub source: Option<String>,
}

/// One case of the contract; what was not measured is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BenchCase {
    pub case: String,
    /// Largest deviation from the reference, in units of the tolerance (1 is the limit).
    pub error: Option<f64>,
    /// Device time of a call, microseconds.
    pub latency_us: Option<f64>,
    /// Host time of a call, microseconds.
    pub host_us: Option<f64>,
    /// Device time of the backward pass, microseconds, for contracts with gradients.
    pub backward_us: Option<f64>,
    pub baseline_us: Option<f64>,
    pub eager_us: Option<f64>,
    pub compile_us: Option<f64>,
    pub vs_baseline: Option<Ratio>,
    pub vs_eager: Option<Ratio>,
    pub vs_compile: Option<Ratio>,
    /// The speed of light: no kernel is expected to be faster.
    pub bound: Option<Bound>,
    /// Its time over the bound.
    pub headroom: Option<f64>,
}

impl BenchReport {
    /// Whether every file was accepted.
    pub fn all_accepted(&self) -> bool {
        self.results.iter().all(|result| result.verdict == BenchVerdict::Accepted)
    }

    /// The JSON form, with a final newline.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

impl BenchResult {
    /// A file that no gate has anything against.
    pub fn accepted(file: impl Into<String>, cases: Vec<BenchCase>) -> Self {
        Self {
            file: file.into(),
            verdict: BenchVerdict::Accepted,
            gate: None,
            reason: None,
            evidence: None,
            cases,
            vs_baseline: None,
            vs_eager: None,
            vs_compile: None,
            notes: Vec::new(),
        }
    }

    /// The same result with the verdict of a rejection; `source` is the file's text.
    #[must_use]
    pub fn rejected(mut self, rejection: Rejection, source: &str) -> Self {
        let line = rejection.line;
        let text = line
            .and_then(|line| source.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?))
            .map(|text| text.trim().to_owned());
        self.verdict = BenchVerdict::Rejected;
        self.gate = Some(rejection.gate);
        self.reason = Some(rejection.reason);
        self.evidence = Some(Evidence { case: rejection.case, line, source: text });
        self
    }
}

#[cfg(test)]
mod tests;
