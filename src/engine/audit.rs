//! The audit of a contract: wrong answers that its correctness gate lets pass.

use std::path::Path;

use super::{error::EngineError, session::PlaneOptions, target::contract_path};
use crate::{
    evaluate::{Device, Interpreter, Plane},
    kernel::{Entry, Target},
    report::{AuditFinding, AuditInfo},
};

/// What an audit on its own found.
#[derive(Clone, Debug)]
pub struct Audited {
    pub info: AuditInfo,
    /// Cases that were audited.
    pub cases: usize,
    pub device_name: String,
    pub notes: Vec<String>,
}

/// Audits every case on `plane`.
pub(super) async fn audit(plane: &Plane, seed: u64) -> Result<AuditInfo, EngineError> {
    let mut info = AuditInfo::default();
    for (index, case) in plane.contract().cases.iter().enumerate() {
        let mutants = plane.audit(index, seed).await?;
        info.checked += mutants.len();
        let passed = mutants.into_iter().filter(|mutant| mutant.passed);
        info.passed.extend(passed.map(|mutant| AuditFinding {
            mutant: mutant.name,
            case: case.name.clone(),
            advice: mutant.advice,
        }));
    }
    Ok(info)
}

/// Audits a contract for which there need not be a kernel yet.
pub async fn audit_contract(
    contract: &Path,
    device: Device,
    interpreter: Interpreter,
    best_effort: bool,
) -> Result<Audited, EngineError> {
    let contract = contract_path(contract)?;
    let target = Target {
        name: "audit".into(),
        source: contract.clone(),
        text: "".into(),
        entry: Entry { module: None, function: None },
        contract,
        editable: None,
        package: None,
        rules: Vec::new(),
        tests: None,
        archs: Vec::new(),
    };
    let options = PlaneOptions {
        device,
        interpreter,
        best_effort,
        children: Some(1),
        candidate_timeout: std::time::Duration::from_secs(60),
        reference_timeout: std::time::Duration::from_secs(300),
    };
    let plane = options.start(target).await?;
    let info = audit(&plane, 1).await;
    let audited = info.map(|info| Audited {
        info,
        cases: plane.contract().cases.len(),
        device_name: plane.device_name().to_owned(),
        notes: plane.contract().notes.clone(),
    });
    plane.close().await;
    audited
}
