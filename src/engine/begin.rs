//! The beginning of a run: a new one, with its plan recorded, or an earlier one to go on with.

use std::{path::Path, sync::Arc, time::SystemTime};

use sha2::{Digest, Sha256};

use super::{
    audit::audit,
    error::EngineError,
    optimize::{Audience, OptimizeRequest},
    reporting,
    run_plan::RunPlan,
};
use crate::{
    evaluate::{Device, Plane},
    generate::task::Experience,
    kernel::{Bound, Candidate},
    report::AuditInfo,
    search::{self, Event, Search, State},
    store::{self, NewRun, RunRecord, RunState, RunStore},
};

/// The run to go on with.
pub(super) async fn find_earlier(
    store: &dyn RunStore,
    request: &OptimizeRequest,
) -> Result<Option<(RunRecord, Vec<Event>)>, EngineError> {
    if let Some(id) = &request.resume {
        let (record, events) = store.load(id).await?;
        if record.state == RunState::Ended {
            return Err(EngineError::Usage(format!(
                "run {id} has ended; `kernelbrain report {id}` shows it, and the same command \
                 without --resume begins a new one"
            )));
        }
        if record.target.text != request.target.text {
            return Err(EngineError::Usage(format!(
                "{} is no longer what run {id} began with; put it back, or begin a new run \
                 without --resume",
                record.target.source.display()
            )));
        }
        return Ok(Some((record, events)));
    }
    match store.find_open_by_key(&key(request)?).await? {
        Some(id) => Ok(Some(store.load(&id).await?)),
        None => Ok(None),
    }
}

/// A run that is not over and writes to the folder that this one will write to.
pub(super) async fn left_in_folder(
    store: &dyn RunStore,
    request: &OptimizeRequest,
) -> Result<Option<String>, EngineError> {
    let Some(folder) = &request.output else { return Ok(None) };
    let runs = store.list().await?;
    let left = runs.into_iter().find(|it| it.state != RunState::Ended && it.output == *folder);
    Ok(left.map(|it| it.id))
}

/// Identifies "the same command again": the target's text and contract, what the search may do,
/// and where its output goes.
fn key(request: &OptimizeRequest) -> Result<String, EngineError> {
    let target = &request.target;
    let contract = contract_bytes(&target.contract)?;
    let what = format!(
        "{:?}",
        (
            &target.source,
            &target.contract,
            &target.editable,
            &target.tests,
            &target.archs,
            request.plane.device,
            request.output.as_deref(),
            (request.limits, request.generation, &request.ladder, request.scheduler, request.stop),
            (request.seed, request.gamma.to_bits(), request.allow_regression, request.strict),
            request.model.as_ref().map(|it| (&it.spec, &it.reviewer, &it.settings)),
        )
    );
    let mut digest = Sha256::new();
    for part in [target.text.as_bytes(), &contract, what.as_bytes()] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    Ok(digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

fn contract_bytes(contract: &Path) -> Result<Vec<u8>, EngineError> {
    let file = if contract.is_dir() { contract.join("reference.py") } else { contract.to_owned() };
    std::fs::read(&file).map_err(|source| EngineError::Read { path: file, source })
}

/// A new run: audits the contract, records the plan.
pub(super) async fn begin(
    request: &OptimizeRequest,
    store: &Arc<dyn RunStore>,
    plane: &Plane,
    output: &Path,
    experience: Experience,
    audience: &mut dyn Audience,
) -> Result<(RunRecord, RunPlan, Search), EngineError> {
    let audit = audit(plane, request.seed).await?;
    judge_audit(&audit, request.strict, audience)?;
    let contract = plane.contract().clone();
    let mut decisive = search::Plan::new(contract.cases.clone(), window(request, plane));
    decisive.overtaken_by = overtaken_by(request, plane);
    decisive.ladder = request.ladder.clone();
    decisive.limits = request.limits;
    decisive.generation = request.generation;
    decisive.scheduler = request.scheduler;
    decisive.reserve = RESERVE;
    decisive.stop = request.stop;
    let bounds: Vec<Option<Bound>> = (0..contract.cases.len()).map(|at| plane.bound(at)).collect();
    decisive.bounds_us = bounds.iter().map(|bound| bound.map(|bound| bound.us)).collect();
    let plan = RunPlan {
        search: decisive,
        seed: request.seed,
        contract,
        audit,
        warnings: warnings(plane),
        gamma: request.gamma,
        allow_regression: request.allow_regression,
        command: request.command.clone(),
        folder: std::env::current_dir().unwrap_or_default(),
        ceilings: plane.ceilings().cloned(),
        bounds,
        model: request.model.as_ref().and_then(|it| it.spec.as_ref()).map(ToString::to_string),
        experience,
    };
    let baseline = Candidate::baseline(request.target.text.clone());
    let search = Search::new(plan.search.clone(), baseline)
        .map_err(|error| EngineError::Usage(error.to_string()))?;
    let created = SystemTime::now();
    let run = NewRun {
        id: run_id(created, &request.target.name),
        key: key(request)?,
        output: output.to_owned(),
        target: request.target.clone(),
        plan: serde_json::to_value(&plan)
            .map_err(|error| EngineError::Usage(format!("the plan cannot be kept: {error}")))?,
        created,
    };
    store.create_run(&run).await?;
    audience.note(&format!("run {}", run.id));
    let (record, _) = store.load(&run.id).await?;
    Ok((record, plan, search))
}

/// Share of each limit that rung 0 leaves at least; what the upper rungs and a verification are
/// expected to cost is added by the search.
const RESERVE: f64 = 0.2;

/// Enough jobs under way that no child idles while an earlier result is awaited.
fn window(request: &OptimizeRequest, plane: &Plane) -> usize {
    match plane.device() {
        Device::Cpu => request.plane.child_count(),
        Device::Cuda { .. } => request.plane.child_count() * 2,
    }
}

/// Where compilers run beside each other and one GPU measures, a kernel that takes a compiler ten
/// seconds must not keep the GPU waiting: the half of the window that no child is at overtakes it.
fn overtaken_by(request: &OptimizeRequest, plane: &Plane) -> Option<usize> {
    matches!(plane.device(), Device::Cuda { .. }).then(|| request.plane.child_count())
}

fn judge_audit(
    audit: &AuditInfo,
    strict: bool,
    audience: &mut dyn Audience,
) -> Result<(), EngineError> {
    if audit.passed.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = audit
        .passed
        .iter()
        .map(|finding| format!("{} (case {}): {}", finding.mutant, finding.case, finding.advice))
        .collect();
    let text = format!("the contract lets wrong answers pass: {}", list.join("; "));
    if strict {
        return Err(EngineError::Usage(text));
    }
    audience.note(&format!("warning: {text}"));
    Ok(())
}

/// What a report must say whatever the search finds.
fn warnings(plane: &Plane) -> Vec<String> {
    let unprotected = plane.unprotected().iter().map(|missing| format!("not protected: {missing}"));
    unprotected.chain(plane.conditions()).collect()
}

fn run_id(created: SystemTime, name: &str) -> String {
    let stamp: String =
        reporting::timestamp(created).chars().filter(char::is_ascii_digit).collect();
    let (day, time) = stamp.split_at(stamp.len().min(8));
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(32)
        .collect();
    format!("{day}-{time}-{name}-{:04x}", rand::random::<u16>())
}

/// An earlier run: folds its journal, and says if what timings hold for has changed.
pub(super) fn resume(
    record: RunRecord,
    events: &[Event],
    plane: &Plane,
    here: &store::Environment,
) -> Result<(RunRecord, RunPlan, Search), EngineError> {
    let plan = plan_of(&record)?;
    if plan.contract != *plane.contract() {
        return Err(EngineError::Usage(format!(
            "the contract is no longer what run {} began with; begin a new run",
            record.id
        )));
    }
    let reset = record.environment.as_ref().and_then(|before| before.reset_against(here));
    let baseline = Candidate::baseline(record.target.text.clone());
    let search = Search::resume(plan.search.clone(), baseline, events, reset)
        .map_err(|error| damaged(&record, &error))?;
    Ok((record, plan, search))
}

/// The plan and the state that a record and its journal amount to.
pub(super) fn fold(record: &RunRecord, events: &[Event]) -> Result<(RunPlan, State), EngineError> {
    let plan = plan_of(record)?;
    let baseline = Candidate::baseline(record.target.text.clone());
    let search = Search::resume(plan.search.clone(), baseline, events, None)
        .map_err(|error| damaged(record, &error))?;
    Ok((plan, search.state().clone()))
}

pub(super) fn plan_of(record: &RunRecord) -> Result<RunPlan, EngineError> {
    serde_json::from_value(record.plan.clone()).map_err(|error| {
        EngineError::Environment(format!(
            "run {} was recorded by another version of kernelbrain ({error}); begin a new run",
            record.id
        ))
    })
}

fn damaged(record: &RunRecord, error: &search::ResumeError) -> EngineError {
    EngineError::Environment(format!("the journal of run {} is damaged: {error}", record.id))
}
