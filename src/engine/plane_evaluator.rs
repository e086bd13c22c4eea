//! The search's evaluator over a real evaluation plane.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::task::JoinSet;

use super::{
    fidelity::FidelityRule,
    profiles::{Profiles, diagnosis},
    review::Reviewer,
};
use crate::{
    evaluate::{EvaluateError, Plane, VerifyPlan},
    kernel::{Candidate, Evaluation, Verdict, Verification},
    search::ports::{Evaluator, Job, PlaneError},
};

/// Keeps the fault behind a [`PlaneError`], which carries only its words through the search.
#[derive(Clone, Debug, Default)]
pub(super) struct FaultSlot(Arc<Mutex<Option<EvaluateError>>>);

impl FaultSlot {
    fn put(&self, error: EvaluateError) -> PlaneError {
        let words = error.to_string();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        PlaneError(words)
    }

    pub(super) fn take(&self) -> Option<EvaluateError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Evaluates on a plane, several candidates at once.
#[derive(Debug)]
pub(super) struct PlaneEvaluator {
    plane: Arc<Plane>,
    baseline: Candidate,
    fidelity: FidelityRule,
    verify: VerifyPlan,
    window: usize,
    profiles: Profiles,
    under_way: JoinSet<Result<Evaluation, EvaluateError>>,
    fault: FaultSlot,
    reviewer: Option<Reviewer>,
}

impl PlaneEvaluator {
    pub(super) fn new(
        plane: Arc<Plane>,
        baseline: Candidate,
        fidelity: FidelityRule,
        verify: VerifyPlan,
        window: usize,
        profiles: Profiles,
        fault: FaultSlot,
    ) -> Self {
        let under_way = JoinSet::new();
        Self {
            plane,
            baseline,
            fidelity,
            verify,
            window,
            profiles,
            under_way,
            fault,
            reviewer: None,
        }
    }

    pub(super) fn with_reviewer(mut self, reviewer: Option<Reviewer>) -> Self {
        self.reviewer = reviewer;
        self
    }
}

#[async_trait]
impl Evaluator for PlaneEvaluator {
    fn submit(&mut self, job: Job) {
        let plane = Arc::clone(&self.plane);
        let fidelity = self.fidelity.of_rung(job.rung);
        let top = job.rung == self.fidelity.ladder.top();
        let profiles = (top && self.profiles.chosen(&job.candidate)).then(|| self.profiles.clone());
        self.under_way.spawn(async move {
            let evaluation = plane.evaluate(&job.candidate, job.rung, &fidelity);
            let Some(profiles) = profiles else { return evaluation.await };
            // Beside each other: most of a profile's time is not the GPU's.
            let profile = profiles.profile(&plane, &job.candidate);
            let (evaluation, profiled) = tokio::join!(evaluation, profile);
            let mut evaluation = evaluation?;
            evaluation.cost.gpu_seconds += profiled.gpu_seconds;
            if evaluation.accepted() {
                evaluation.diagnosis = diagnosis(&profiled.profiling);
                evaluation.profiling = Some(profiled.profiling);
                if job.candidate.parent.is_none() {
                    profiles.know_baseline(&evaluation);
                } else {
                    let reported = |case: &str| evaluation.latency_us(case);
                    let found = profiles.contradiction(&plane, &job.candidate, reported).await;
                    evaluation.verdict = found.map_or(Verdict::Accepted, Verdict::Rejected);
                }
            }
            Ok(evaluation)
        });
    }

    async fn next(&mut self) -> Result<Evaluation, PlaneError> {
        match self.under_way.join_next().await {
            Some(Ok(Ok(evaluation))) => Ok(evaluation),
            Some(Ok(Err(error))) => Err(self.fault.put(error)),
            Some(Err(error)) => Err(PlaneError(format!("an evaluation broke off: {error}"))),
            None => Err(PlaneError("no evaluation is under way".into())),
        }
    }

    async fn abandon(&mut self) {
        // A child dies with the future that holds it.
        self.under_way.shutdown().await;
    }

    fn window(&self) -> usize {
        self.window
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.plane.take_warnings()
    }

    async fn verify(&mut self, candidate: &Candidate) -> Result<Verification, PlaneError> {
        let mut plan = self.verify.clone();
        // Seeds that nothing has seen: neither a candidate nor whoever wrote it can know them.
        for seed in &mut plan.seeds {
            *seed = u64::from(rand::random::<u32>());
        }
        let verified = self.plane.verify(candidate, &self.baseline, &plan).await;
        let mut verification = verified.map_err(|error| self.fault.put(error))?;
        if verification.accepted() && self.profiles.lacks(candidate) {
            let profiled = self.profiles.profile_at_last(&self.plane, candidate).await;
            verification.cost.gpu_seconds += profiled.gpu_seconds;
            verification.profiling = Some(profiled.profiling);
        }
        if verification.accepted() {
            let reported = |case: &str| {
                let compared = verification.comparisons.iter().find(|it| it.case == case);
                compared.map(|it| it.candidate_us)
            };
            let found = self.profiles.contradiction(&self.plane, candidate, reported).await;
            verification.verdict = found.map_or(Verdict::Accepted, Verdict::Rejected);
        }
        if let Some(reviewer) = &self.reviewer {
            reviewer.judge(candidate, self.profiles.of(candidate), &mut verification).await;
        }
        Ok(verification)
    }
}
