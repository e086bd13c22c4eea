//! One kernel compared with another many times: how far a comparison can be trusted.

use std::path::PathBuf;

use super::{
    error::EngineError, fidelity::FidelityRule, session::PlaneOptions, target::read_source,
};
use crate::{
    evaluate::Repetitions,
    kernel::{Candidate, Move, Target},
    search::Ladder,
};

/// What is to be compared, and how often.
#[derive(Clone, Debug)]
pub struct ComparisonsRequest {
    pub target: Target,
    pub against: PathBuf,
    pub plane: PlaneOptions,
    pub seed: u64,
    pub gamma: f64,
    /// On every case of the contract.
    pub count: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Compared {
    pub device_name: String,
    pub repetitions: Repetitions,
}

/// Compares at the fidelity of a verification, without PyTorch beside it.
pub async fn compare(request: ComparisonsRequest) -> Result<Compared, EngineError> {
    let mut target = request.target.clone();
    let text = read_source(&request.against)?;
    let baseline = Candidate::baseline(text.as_str());
    let origin = Move::Recipe { text: "given".into() };
    let candidate = Candidate::child(&baseline.id, origin, target.text.clone());
    target.text = text.into();
    let plane = request.plane.start(target).await?;
    let rule = FidelityRule {
        ladder: Ladder::default(),
        cases: plane.contract().cases.clone(),
        device: plane.device(),
        seed: request.seed,
        flush_bytes: plane.flush_bytes(),
        gamma: request.gamma,
        allow_regression: true,
        thorough: false,
    };
    let mut plan = rule.verification(false);
    plan.seeds = vec![request.seed & 0xffff_ffff];
    plan.with_pytorch = false;
    let result = async {
        plane.lay_out(plan.seeds[0]).await?;
        plane.repeat_comparison(&candidate, &baseline, &plan, request.count).await
    }
    .await;
    let device_name = plane.device_name().to_owned();
    plane.close().await;
    Ok(Compared { device_name, repetitions: result? })
}
