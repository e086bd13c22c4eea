//! What a report says; serialised, it is `report.json` (schema 1, documented in `docs/report.md`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kernel::{
    Bound, BuildFacts, Ceilings, Diagnosis, Gate, Headroom, Observed, Profile, Ratio, Review,
};

pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: u32,
    pub run: RunInfo,
    pub target: TargetInfo,
    pub device: DeviceInfo,
    pub outcome: OutcomeKind,
    /// One sentence: why this outcome.
    pub reason: String,
    pub speedup: Speedups,
    pub rungs: Vec<RungRow>,
    pub cases: Vec<CaseRow>,
    pub candidates: Vec<CandidateRow>,
    /// Best speedup over time: steps, by measured latency.
    pub trajectory: Vec<TrajectoryPoint>,
    pub budget: BudgetInfo,
    /// `None` where no language model took part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationInfo>,
    pub audit: AuditInfo,
    /// What the GPU's counters said.
    #[serde(default)]
    pub profile: ProfileInfo,
    pub warnings: Vec<String>,
    /// `None` unless improved.
    pub best: Option<BestInfo>,
    /// What a second language model said of survivors, the winner's last; absent where none was
    /// asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewRow>,
    /// Source of the target as it stood, for the diff.
    #[serde(skip)]
    pub baseline_source: String,
    /// Source of the winner.
    #[serde(skip)]
    pub best_source: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    Improved,
    NoImprovement,
    Parked,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    pub kernelbrain: String,
    /// The command line that repeats the run.
    pub command: String,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetInfo {
    pub name: String,
    pub source: String,
    pub contract: String,
    pub kind: String,
    pub entry: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// `cuda` or `cpu`.
    pub kind: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    pub torch: String,
    pub triton: String,
    /// What it reaches at best; `None` on the cpu device.
    #[serde(default)]
    pub ceilings: Option<Ceilings>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Speedups {
    pub vs_baseline: Option<Ratio>,
    pub vs_eager: Option<Ratio>,
    pub vs_compile: Option<Ratio>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RungRow {
    pub index: usize,
    pub entered: usize,
    pub rejected: usize,
    pub measured: usize,
    pub promoted: usize,
    pub gpu_seconds: f64,
    pub wall_seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRow {
    pub name: String,
    pub params: Map<String, Value>,
    pub baseline_us: Option<f64>,
    pub best_us: Option<f64>,
    pub eager_us: Option<f64>,
    pub compile_us: Option<f64>,
    /// Over the baseline; with `low` and `high` its 95 % interval.
    pub speedup: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The speed of light: no kernel is expected to be faster.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// Measured times over the bound.
    #[serde(default)]
    pub headroom: Option<Headroom>,
    /// Rounds that the interval rests on.
    #[serde(default)]
    pub rounds: Option<u32>,
    /// What noise alone does between two rounds, as a share: median |log ratio| of the baseline.
    #[serde(default)]
    pub noise: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateRow {
    pub id: String,
    pub parent: Option<String>,
    #[serde(rename = "move")]
    pub origin: String,
    pub verdict: CandidateVerdict,
    /// The gate that rejected it.
    pub gate: Option<Gate>,
    pub reason: Option<String>,
    /// The highest rung it was evaluated on.
    pub rung: Option<usize>,
    pub latency_us: Option<f64>,
    pub score: Option<f64>,
    /// The candidate whose measurement this one shares: both are the same program.
    #[serde(default)]
    pub same_program_as: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateVerdict {
    Baseline,
    /// Added, never evaluated: the budget ended first.
    Queued,
    Rejected,
    Pruned,
    /// Past the top rung, not the winner.
    Survivor,
    Winner,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryPoint {
    pub wall_seconds: f64,
    pub speedup: f64,
    pub candidate: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BudgetInfo {
    pub wall_seconds_limit: Option<f64>,
    pub wall_seconds_spent: f64,
    pub gpu_seconds_limit: Option<f64>,
    pub gpu_seconds_spent: f64,
    pub evaluations_limit: Option<u64>,
    pub evaluations_spent: u64,
    /// Of language models, questions and answers together.
    #[serde(default)]
    pub tokens_limit: Option<u64>,
    #[serde(default)]
    pub tokens_spent: u64,
    /// US dollars, by the configured prices.
    #[serde(default)]
    pub usd_limit: Option<f64>,
    #[serde(default)]
    pub usd_spent: f64,
    /// Why the search ended before its budget did, where a stop rule ended it.
    #[serde(default)]
    pub stopped: Option<String>,
}

/// What a language model contributed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerationInfo {
    /// As the person named it.
    pub model: String,
    /// Rewrites asked for, repairs not counted.
    pub asked: u32,
    /// Those that were answered, whatever with.
    pub answered: usize,
    /// Candidates that passed policy, build and correctness at once, without having been sent back.
    pub right_at_once: usize,
    /// Those that did so in the end, repairs included.
    pub right: usize,
    /// Times that a rewrite was sent back by a gate.
    pub repairs: usize,
    /// Whether the tokens of the budget are estimated from the lengths of texts: nobody counted them.
    pub tokens_estimated: bool,
    /// Why answers gave no candidate, each reason once, the last few.
    pub unused: Vec<String>,
    /// Of a parked run: the questions that somebody outside has to answer.
    pub awaiting: Vec<String>,
}

/// Which wrong answers the contract lets pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditInfo {
    pub checked: usize,
    pub passed: Vec<AuditFinding>,
}

/// A wrong answer that passes the contract's own correctness gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditFinding {
    pub mutant: String,
    pub case: String,
    /// What to change in the contract.
    pub advice: String,
}

/// Before and after, by the GPU's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileInfo {
    pub baseline: Option<ProfileEntry>,
    /// `None` unless improved.
    pub best: Option<ProfileEntry>,
    /// Why one is missing, and what to do about it.
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileEntry {
    pub diagnosis: Diagnosis,
    pub profile: Profile,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestInfo {
    pub id: String,
    /// The moves that led from the baseline to it, the first first.
    #[serde(default)]
    pub moves: Vec<String>,
    /// Relative to the output folder.
    pub file: String,
    pub patch: String,
    /// Its kernels, as the compiler made them.
    #[serde(default)]
    pub build: Vec<BuildFacts>,
    /// What is known of it besides.
    #[serde(default)]
    pub observed: Option<Observed>,
}

/// A survivor that passed every other gate, as a second language model saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewRow {
    pub candidate: String,
    #[serde(flatten)]
    pub review: Review,
}
