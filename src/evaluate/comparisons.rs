//! Two kernels compared over and over, to see how far a comparison can be trusted: a kernel against
//! itself shows what noise alone does, a kernel against one that is known to be slower shows what
//! is found.

use serde::Serialize;

use super::{
    error::EvaluateError,
    field::Field,
    judge::Stop,
    plane::Plane,
    verify::{VerifyPlan, comparison},
};
use crate::kernel::{Candidate, CaseComparison, Rejection};

/// One comparison at the fidelity of a verification.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repetition {
    #[serde(flatten)]
    pub comparison: CaseComparison,
    /// Whether a verification would have claimed an improvement on this case.
    pub claimed: bool,
    /// For how long it held the GPU.
    pub gpu_seconds: f64,
}

/// What came of repeated comparisons.
#[derive(Clone, Debug, Default)]
pub struct Repetitions {
    pub list: Vec<Repetition>,
    pub notes: Vec<String>,
    /// Why there are no more of them.
    pub rejection: Option<Rejection>,
}

impl Plane {
    /// Compares `candidate` with `baseline` `count` times on every case. Both live in one process
    /// each for all of it; inputs are new in every round.
    pub async fn repeat_comparison(
        &self,
        candidate: &Candidate,
        baseline: &Candidate,
        plan: &VerifyPlan,
        count: u32,
    ) -> Result<Repetitions, EvaluateError> {
        let mut repetitions = Repetitions::default();
        match self.compare_all(candidate, baseline, plan, count, &mut repetitions).await {
            Ok(()) => {}
            Err(Stop::Rejected(rejection)) => repetitions.rejection = Some(rejection),
            Err(Stop::Fault(error)) => return Err(error),
        }
        Ok(repetitions)
    }

    async fn compare_all(
        &self,
        candidate: &Candidate,
        baseline: &Candidate,
        plan: &VerifyPlan,
        count: u32,
        repetitions: &mut Repetitions,
    ) -> Result<(), Stop> {
        self.check_policy(candidate)?;
        let mut field = Field::assemble(self, candidate, baseline, plan).await?;
        let result = self.compare_in_field(&mut field, plan, count, repetitions).await;
        field.dismiss().await;
        result
    }

    async fn compare_in_field(
        &self,
        field: &mut Field<'_>,
        plan: &VerifyPlan,
        count: u32,
        repetitions: &mut Repetitions,
    ) -> Result<(), Stop> {
        let cases: Vec<usize> = (0..self.contract.cases.len()).collect();
        field.compile(&cases, plan.seeds[0]).await?;
        for case in cases {
            let name = &self.contract.cases[case].name;
            for number in 0..u64::from(count) {
                let turn = self.turn.take().await;
                // A seed of its own for each, so that no two share the values of their rounds.
                let seed = plan.seeds[0].wrapping_add(number) & 0xffff_ffff;
                field.check(case, &[seed], &mut repetitions.notes).await?;
                let times = field.race(case, seed, plan, &mut repetitions.notes).await?;
                let gpu_seconds = turn.seconds();
                let Some(comparison) = comparison(name, &times) else { continue };
                let claimed = plan.claims(&comparison.vs_baseline);
                repetitions.list.push(Repetition { comparison, claimed, gpu_seconds });
            }
        }
        Ok(())
    }
}
