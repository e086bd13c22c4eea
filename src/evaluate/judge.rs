//! One evaluation: a candidate through the gates of a rung, in the order policy, build,
//! correctness, integrity, timing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    course::Rounds,
    error::EvaluateError,
    identity::{Claim, Measuring, Ticket},
    plane::Plane,
    protocol::Timing,
    subject::{Built, Subject},
    supervision::Trial,
    tuning::Tuning,
};
use crate::kernel::{
    BuildFacts, Candidate, CaseMeasurement, Cost, Evaluation, Observed, Rejection, Verdict,
};

/// What an evaluation covers.
#[derive(Clone, Debug, PartialEq)]
pub struct Fidelity {
    /// Indices of the contract's cases, never empty.
    pub cases: Vec<usize>,
    /// Seeds of the inputs that are compared, never empty; the first one is timed.
    pub seeds: Vec<u64>,
    pub timing: Timing,
    /// Whether no other child may create its device context or take memory meanwhile, which would
    /// hold the driver's locks (every rung but the lowest).
    pub quiet: bool,
    /// Rounds on fresh inputs, each with an answer of a timed call compared (every rung but the
    /// lowest, where one burst must do).
    pub rounds: Option<Rounds>,
    /// How many times as long as the baseline a case may take before the others are left out;
    /// `None` where all of them count.
    pub hopeless_at: Option<f64>,
    /// Whether calls are observed besides: memory, repeatability, bounds (the top rung).
    pub observe: bool,
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
    /// Held while others may wait for what is measured here.
    ticket: Option<Ticket>,
    pub(super) cases: Vec<CaseMeasurement>,
    pub(super) build: Vec<BuildFacts>,
    pub(super) gpu_seconds: f64,
    pub(super) disturbed: u32,
    pub(super) observed: Option<Observed>,
    pub(super) ended_at: Option<String>,
}

/// How the gates of a rung end for a candidate that none of them rejects.
#[derive(Debug)]
enum Judged {
    Accepted,
    /// Its program was measured before.
    Known(Box<Evaluation>),
    /// Its program is being measured.
    Wait(Measuring),
}

/// The evaluation of a candidate whose program `known` is about.
fn same_program(candidate: &Candidate, known: Evaluation, elapsed: Duration) -> Evaluation {
    let measured = known.same_program_as.unwrap_or(known.candidate);
    Evaluation {
        candidate: candidate.id.clone(),
        // A second evaluation of one candidate shares nothing with anybody else's.
        same_program_as: (measured != candidate.id).then_some(measured),
        cost: Cost { gpu_seconds: 0.0, wall_seconds: elapsed.as_secs_f64() },
        ..known
    }
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
        loop {
            let mut trial = Trial::begin(self).await;
            let (judged, findings) = loop {
                let mut findings = Findings::default();
                // Boxed: it holds a whole evaluation, and is polled from deep down.
                let judging = Box::pin(self.judge(candidate, rung, fidelity, &mut findings));
                let judged = judging.await;
                if let Some(settled) = trial.settle(judged).await {
                    break (settled, findings);
                }
            };
            // What is waited for below may itself have to be made alone.
            drop(trial);
            let verdict = match judged {
                Ok(Judged::Accepted) => Verdict::Accepted,
                Ok(Judged::Known(known)) => {
                    return Ok(same_program(candidate, *known, started.elapsed()));
                }
                Ok(Judged::Wait(measuring)) => {
                    measuring.ended().await;
                    continue;
                }
                Err(Stop::Rejected(rejection)) => Verdict::Rejected(rejection),
                Err(Stop::Fault(error)) => return Err(error),
            };
            let evaluation = Evaluation {
                candidate: candidate.id.clone(),
                rung,
                verdict,
                cases: findings.cases,
                build: findings.build,
                diagnosis: None,
                disturbed: findings.disturbed,
                profiling: None,
                cost: Cost {
                    gpu_seconds: findings.gpu_seconds,
                    wall_seconds: started.elapsed().as_secs_f64(),
                },
                same_program_as: None,
                observed: findings.observed,
                ended_at: findings.ended_at,
            };
            if candidate.parent.is_none() && evaluation.accepted() {
                self.standards.set(&evaluation.cases);
            }
            if let Some(ticket) = findings.ticket {
                ticket.keep(&evaluation);
            }
            return Ok(evaluation);
        }
    }

    async fn judge(
        &self,
        candidate: &Candidate,
        rung: usize,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<Judged, Stop> {
        self.check_policy(candidate)?;
        let slot = self.slots.acquire().await.map_err(|_| EvaluateError::closed())?;
        // The baseline is the yardstick.
        let lasting = fidelity.observe || candidate.parent.is_none();
        let tuning = if lasting { Tuning::Usual } else { Tuning::Brief };
        let mut subject = Subject::start(self, candidate, tuning).await?;
        let built = subject.compile(&fidelity.cases, fidelity.seeds[0]).await;
        // While it waits for the GPU, measures and ends, another one can compile.
        drop(slot);
        let judged = match built {
            Ok(built) => self.judge_built(&mut subject, built, rung, fidelity, findings).await,
            Err(stop) => Err(stop),
        };
        subject.end().await;
        judged
    }

    async fn judge_built(
        &self,
        subject: &mut Subject<'_>,
        built: Built,
        rung: usize,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<Judged, Stop> {
        findings.build = built.kernels;
        match self.programs.claim(rung, fidelity, &built.identities) {
            Some(Claim::Measured(known)) => return Ok(Judged::Known(known)),
            Some(Claim::Wait(measuring)) => return Ok(Judged::Wait(measuring)),
            Some(Claim::Measure(ticket)) => findings.ticket = Some(ticket),
            None => {}
        }
        let context = self.contexts.acquire().await.map_err(|_| EvaluateError::closed())?;
        let measured = subject.measure(fidelity, findings).await;
        // A process that held a GPU takes a while to end.
        drop(context);
        measured.map(|()| Judged::Accepted)
    }

    /// The static gate; the baseline is what it is.
    pub(super) fn check_policy(&self, candidate: &Candidate) -> Result<(), Rejection> {
        if candidate.parent.is_none() {
            return Ok(());
        }
        self.policy.check(candidate.source.as_bytes())
    }

    /// How the contract has candidates called.
    pub(super) fn call(&self) -> Value {
        let contract = &self.contract;
        json!({"kind": contract.kind, "mutates": contract.mutates, "grads": contract.grads})
    }

    /// The layout of a case's buffers; made by the referee at the case's first use, in a turn of its
    /// own. Not for those who have the turn.
    pub(super) async fn layout(&self, case: usize, seed: u64) -> Result<Value, EvaluateError> {
        if let Some(layout) = self.layouts.lock().await.get(&case) {
            return Ok(layout.clone());
        }
        // Not with the layouts locked: whoever has the turn may ask for one.
        let _turn = self.turn.take().await;
        let mut referee = self.referee.lock().await;
        let layout = referee.inputs(case, &self.contract.cases[case], seed).await?;
        self.layouts.lock().await.insert(case, layout.clone());
        Ok(layout)
    }
}
