//! What happens in a run. A run's state is the fold of these, so they are all that a
//! journal has to keep.
//!
//! # Accounting
//!
//! - **GPU seconds and evaluations** are debited by estimate before they are spent
//!   ([`Event::Debited`]); when the result is settled, what it really cost replaces the
//!   estimate. What was under way when a session died stays spent at its estimate.
//! - **Wall clock** is what the clock of the run's sessions showed, not the sum of evaluations
//!   that overlap: every event that carries `wall_seconds` of the run ([`Event::Evaluated`] and
//!   [`Event::Verified`] in `spent`, [`Event::Ticked`]) carries the seconds since the one before
//!   it in the same session, so that their sum is the time for which the run was up. A debit's
//!   `estimate.wall_seconds` is the expected duration of the job; it is not added to anything.
//!
//! # Order
//!
//! Jobs may end in any order and [`Event::Evaluated`] is written when they do, so that no
//! finished evaluation is ever repeated. Their results are taken into account in the order of
//! their debits: [`Event::Settled`]. Everything decided rests on settled results only, which is why
//! a run's decisions do not depend on which of two jobs ended first. A straggler, behind which as
//! many results wait as the plan allows, is overtaken: the device would be idle else.

use serde::{Deserialize, Serialize};

use super::{Candidate, CandidateId, Evaluation, Verification};

/// What the scheduler decided about an accepted evaluation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Goes on to the next rung.
    Promote { reason: String },
    /// Ends here.
    Prune { reason: String },
}

/// Amounts of the run's budgets. Seconds, counts, US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    pub wall_seconds: f64,
    pub gpu_seconds: f64,
    pub evaluations: u64,
    /// Of a language model, those of the question and of the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// What the model's provider charges, where its prices are known.
    #[serde(default, skip_serializing_if = "is_free")]
    pub usd: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_free(usd: &f64) -> bool {
    *usd == 0.0
}

/// The limits of a run; `None` is without limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Time for which the run's sessions are up.
    pub wall_seconds: Option<f64>,
    /// Time for which a GPU is held.
    pub gpu_seconds: Option<f64>,
    /// Measured pairs of candidate and rung, the baseline included; verifications are not counted.
    pub evaluations: Option<u64>,
    /// Of language models, questions and answers together.
    pub tokens: Option<u64>,
    /// What language models may cost, US dollars.
    pub usd: Option<f64>,
}

/// Who is asked for candidates, and for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Recipes, as many as are wanted.
    #[default]
    Recipes,
    /// One rewrite of a language model's; those of one occasion are numbered from 0.
    Rewrite(u32),
    /// Another try of the model's at a rewrite that a gate rejected; tries are numbered from 1.
    Repair(u32),
}

impl RequestKind {
    /// Whether a language model answers.
    pub fn asks_a_model(self) -> bool {
        self != Self::Recipes
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_recipes(&self) -> bool {
        *self == Self::Recipes
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// A candidate passed every gate.
    Improved { best: CandidateId },
    /// None did; the source stays as it was.
    NoImprovement { reason: String },
    /// Nothing left to do until answers arrive.
    Parked { reason: String },
    /// The run could not be carried out, for example because the baseline fails its contract.
    Failed { reason: String },
}

/// One thing that happened in a run, in the order it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The baseline on every case at the top rung's fidelity; its `rung` is the top rung.
    BaselineMeasured { evaluation: Evaluation },
    /// A new candidate was put into the queue at rung 0.
    CandidateAdded { candidate: Candidate },
    /// A move that produced nothing: duplicate or malformed. Kept because moves are counted.
    MoveDiscarded { parent: CandidateId, text: String, reason: String },
    /// Taken from the budget before a language model is asked; once a request, also where a run that
    /// is resumed asks again.
    Asked { parent: CandidateId, rung: Option<usize>, kind: RequestKind, estimate: Spend },
    /// A request for candidates was answered in full: its candidates and discarded moves stand
    /// before this. Until then a resumed run asks again.
    Answered {
        parent: CandidateId,
        /// The rung whose promotion or rejection led to the request; `None` for the seeds.
        rung: Option<usize>,
        #[serde(default, skip_serializing_if = "RequestKind::is_recipes")]
        kind: RequestKind,
        /// Replaces the estimate.
        #[serde(default)]
        spent: Spend,
    },
    /// Taken from the budget before it is spent, for the evaluation that starts now. A rung one
    /// past the top stands for a verification.
    Debited { candidate: CandidateId, rung: usize, estimate: Spend },
    /// An evaluation ended; `spent` replaces the estimate of its debit once it is settled.
    Evaluated { evaluation: Evaluation, spent: Spend },
    /// The result of an evaluation was taken into account, in the order of the debits but for stragglers.
    Settled { candidate: CandidateId, rung: usize },
    /// Every evaluation under way was given up, because what is left of the budget is needed for
    /// the verification of a survivor. Results that had arrived are taken into account, in order.
    Abandoned,
    /// What became of an accepted evaluation; promotion on the top rung means that the candidate
    /// is a survivor. May come long after it was settled: a candidate is promoted as soon as it
    /// is among the best of its rung, and pruned when it no longer can be. Also written for a
    /// promoted candidate that the budget did not reach: pruned on the rung it was waiting for.
    Decided { candidate: CandidateId, rung: usize, decision: Decision },
    /// A survivor had its last word.
    Verified { verification: Verification, spent: Spend },
    /// Wall-clock seconds that passed without another event to carry them.
    Ticked { wall_seconds: f64 },
    /// The run goes on after a stop. `reset` says that device, driver or triton changed, so that
    /// timings are measured anew.
    Resumed { reset: Option<String> },
    /// Whoever goes on with the run gave it other limits, which hold from here on.
    LimitsChanged {
        limits: Limits,
        /// In the whole run.
        max_candidates: usize,
        /// In the whole run, repairs not counted; `None` where no language model is asked.
        rewrites: Option<u32>,
    },
    /// Something the report must tell.
    Warned { text: String },
    /// The run is over (a parked one may go on later).
    Ended { outcome: Outcome },
}
