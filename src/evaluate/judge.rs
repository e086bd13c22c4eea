//! One evaluation: a candidate through the gates of a rung, in the order policy, build,
//! correctness, integrity, timing.

use std::time::Instant;

use serde_json::Value;

use super::{
    error::EvaluateError, plane::Plane, policy, protocol::Timing, subject::Subject, wire::WireError,
};
use crate::kernel::{BuildFacts, Candidate, CaseMeasurement, Cost, Evaluation, Rejection, Verdict};

/// What an evaluation covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fidelity {
    /// Indices of the contract's cases, never empty.
    pub cases: Vec<usize>,
    /// Seeds of the inputs that are compared, never empty; the first one is timed.
    pub seeds: Vec<u64>,
    pub timing: Timing,
    /// Whether creating the device context waits for the GPU turn too, so that it disturbs no
    /// other candidate's timing (every rung but the lowest).
    pub start_in_turn: bool,
    /// Whether the answer of the last timed call is compared as well (every rung but the lowest).
    pub compare_timed: bool,
}

/// Why an evaluation stops before its end.
#[derive(Debug)]
pub(super) enum Stop {
    Rejected(Rejection),
    Fault(EvaluateError),
}

impl From<EvaluateError> for Stop {
    fn from(error: EvaluateError) -> Self {
        Self::Fault(error)
    }
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// What an evaluation has found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) cases: Vec<CaseMeasurement>,
    pub(super) build: Vec<BuildFacts>,
    pub(super) gpu_seconds: f64,
}

impl Plane {
    /// Runs `candidate` through the gates of a rung. An error is a fault of the contract or the
    /// plane, never the candidate's.
    pub async fn evaluate(
        &self,
        candidate: &Candidate,
        rung: usize,
        fidelity: &Fidelity,
    ) -> Result<Evaluation, EvaluateError> {
        let started = Instant::now();
        let mut findings = Findings::default();
        let verdict = match self.judge(candidate, fidelity, &mut findings).await {
            Ok(()) => Verdict::Accepted,
            Err(Stop::Rejected(rejection)) => Verdict::Rejected(rejection),
            Err(Stop::Fault(error)) => return Err(error),
        };
        Ok(Evaluation {
            candidate: candidate.id.clone(),
            rung,
            verdict,
            cases: findings.cases,
            build: findings.build,
            diagnosis: None,
            cost: Cost {
                gpu_seconds: findings.gpu_seconds,
                wall_seconds: started.elapsed().as_secs_f64(),
            },
        })
    }

    async fn judge(
        &self,
        candidate: &Candidate,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        self.check_policy(candidate)?;
        let _slot = self.slots.acquire().await.map_err(|_| closed())?;
        let mut subject = Subject::start(self, candidate).await?;
        let verdict = subject.measure(fidelity, findings).await;
        subject.end().await;
        verdict
    }

    /// The static gate; the baseline is what it is.
    pub(super) fn check_policy(&self, candidate: &Candidate) -> Result<(), Rejection> {
        if candidate.parent.is_none() {
            return Ok(());
        }
        policy::check(&self.baseline, candidate.source.as_bytes(), &self.rules)
    }

    /// The layout of a case's buffers; made by the referee at the case's first use.
    pub(super) async fn layout(&self, case: usize, seed: u64) -> Result<Value, EvaluateError> {
        let mut layouts = self.layouts.lock().await;
        if let Some(layout) = layouts.get(&case) {
            return Ok(layout.clone());
        }
        let _turn = self.turn.take().await;
        let mut referee = self.referee.lock().await;
        let layout = referee.inputs(case, &self.contract.cases[case], seed).await?;
        layouts.insert(case, layout.clone());
        Ok(layout)
    }
}

fn closed() -> EvaluateError {
    EvaluateError::Process {
        what: "the evaluation plane".into(),
        error: Box::new(WireError::Closed),
        log: String::new(),
    }
}
