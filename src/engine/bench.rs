//! One kernel by all gates and timed, without a search; beside a baseline the last word too.

use super::{
    ceilings::illuminate, error::EngineError, fidelity::FidelityRule, session::PlaneOptions,
    target::read_source,
};
use crate::{
    kernel::{Bound, Candidate, Evaluation, Move, Target, Verification},
    search::Ladder,
};
use std::path::PathBuf;

/// What is to be judged.
#[derive(Clone, Debug)]
pub struct BenchRequest {
    pub target: Target,
    pub plane: PlaneOptions,
    pub ladder: Ladder,
    pub seed: u64,
    pub gamma: f64,
    pub allow_regression: bool,
    /// A baseline to compare with.
    pub against: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Benched {
    pub evaluation: Evaluation,
    /// Present with a baseline, if the kernel itself was accepted.
    pub verification: Option<Verification>,
    pub device_name: String,
    /// Speed-of-light bounds of the cases, in the contract's order.
    pub bounds: Vec<Option<Bound>>,
    pub notes: Vec<String>,
}

/// Judges a kernel at full fidelity.
pub async fn bench(request: BenchRequest) -> Result<Benched, EngineError> {
    let mut target = request.target.clone();
    let subject = match &request.against {
        // The policy gate compares with the baseline, so the baseline is the target.
        Some(baseline) => {
            let text = read_source(baseline)?;
            let parent = Candidate::baseline(text.as_str());
            target.text = text.into();
            let origin = Move::Recipe { text: "given".into() };
            Candidate::child(&parent.id, origin, request.target.text.clone())
        }
        None => Candidate::baseline(request.target.text.clone()),
    };
    let baseline = Candidate::baseline(target.text.clone());
    let plane = request.plane.start(target).await?;
    let rule = FidelityRule {
        ladder: request.ladder.clone(),
        cases: plane.contract().cases.clone(),
        device: plane.device(),
        seed: request.seed,
        flush_bytes: plane.flush_bytes(),
        gamma: request.gamma,
    };
    let mut notes = Vec::new();
    let result = async {
        let mut note = |text: &str| notes.push(text.to_owned());
        illuminate(&plane, &request.plane, None, true, &mut note).await;
        plane.lay_out(request.seed).await?;
        let top = rule.ladder.top();
        let evaluation = plane.evaluate(&subject, top, &rule.of_rung(top)).await?;
        let verification = if evaluation.accepted() && request.against.is_some() {
            let mut plan = rule.verification(request.allow_regression);
            plan.seeds.fill_with(|| u64::from(rand::random::<u32>()));
            Some(plane.verify(&subject, &baseline, &plan).await?)
        } else {
            None
        };
        Ok::<_, EngineError>((evaluation, verification))
    }
    .await;
    let benched = result.map(|(evaluation, verification)| Benched {
        evaluation,
        verification,
        device_name: plane.device_name().to_owned(),
        bounds: (0..plane.contract().cases.len()).map(|case| plane.bound(case)).collect(),
        notes: [plane.contract().notes.clone(), notes, plane.take_warnings()].concat(),
    });
    plane.close().await;
    benched
}
