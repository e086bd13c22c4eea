//! A run from its target to its report.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Instant, SystemTime},
};

use sha2::{Digest, Sha256};

use super::{
    audit::audit,
    ceilings::illuminate,
    error::EngineError,
    facts,
    fidelity::FidelityRule,
    plane_evaluator::{FaultSlot, PlaneEvaluator},
    profiles::Profiles,
    recipes_generator::RecipesGenerator,
    reporting,
    run_plan::RunPlan,
    session::{PlaneOptions, database_path, environment},
    stored_journal::StoredJournal,
};
use crate::{
    evaluate::{Device, Plane},
    kernel::{Bound, Candidate, Target},
    report::{self, AuditInfo, Report},
    search::{
        self, Event, Generation, Ladder, Limits, Observer, Outcome, SchedulerChoice, Search,
        SearchError, State, Stop, StopRules, World, ports::Clock,
    },
    store::{self, NewRun, RunRecord, RunState, RunStore, SqliteStore},
};

/// A run that a person asks for.
#[derive(Clone, Debug)]
pub struct OptimizeRequest {
    pub target: Target,
    pub plane: PlaneOptions,
    pub limits: Limits,
    pub generation: Generation,
    pub ladder: Ladder,
    pub scheduler: SchedulerChoice,
    pub stop: StopRules,
    /// Measure the device's ceilings if none are known.
    pub calibrate: bool,
    pub seed: u64,
    pub gamma: f64,
    pub allow_regression: bool,
    /// Read the GPU's counters for the baseline and the best candidates, where that can be.
    pub profile: bool,
    /// Refuse a contract that lets wrong answers pass.
    pub strict: bool,
    pub output: PathBuf,
    pub database: Option<PathBuf>,
    /// The run to go on with; without it, an unfinished one of the same command.
    pub resume: Option<String>,
    /// The command line that repeats the run.
    pub command: String,
}

/// Looks on while a run goes.
pub trait Audience: Observer {
    /// Something to read, once.
    fn note(&mut self, text: &str);
}

/// A run that came to its end.
#[derive(Clone, Debug)]
pub struct Finished {
    pub report: Report,
    /// The report for people.
    pub html: PathBuf,
}

/// Seconds since the process began to work on the run.
#[derive(Debug)]
struct SessionClock(Instant);

impl Clock for SessionClock {
    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Carries out a run, or goes on with it. Whatever stops it, its state is kept.
pub async fn optimize(
    request: OptimizeRequest,
    audience: &mut dyn Audience,
    mut stop: Stop,
) -> Result<Finished, EngineError> {
    let clock = SessionClock(Instant::now());
    let lock = store::lock_output(&request.output)?;
    let database = SqliteStore::open(&database_path(request.database.clone())?).await?;
    let store: Arc<dyn RunStore> = Arc::new(database.clone());
    let earlier = find_earlier(store.as_ref(), &request).await?;

    let mut target = request.target.clone();
    if let Some((record, _)) = &earlier {
        target = record.target.clone();
        audience.note(&format!("going on with run {}", record.id));
    }
    let plane = tokio::select! {
        plane = request.plane.start(target) => Arc::new(plane?),
        () = stop.wait() => return Err(SearchError::Interrupted.into()),
    };
    announce(&plane, audience);
    let mut note = |text: &str| audience.note(text);
    tokio::select! {
        () = illuminate(&plane, &request.plane, Some(&database), request.calibrate, &mut note) => {}
        () = stop.wait() => {
            close(plane).await;
            return Err(SearchError::Interrupted.into());
        }
    }
    let result = drive(&request, &store, earlier, &plane, &clock, audience, stop).await;
    // Evaluations that were dropped hold the plane until their tasks are gone.
    close(plane).await;
    let (record, plan, search) = result?;
    let report = reporting::report(&record, &plan, search.state());
    report::write(&report, lock.folder())?;
    Ok(Finished { report, html: lock.folder().join(report::HTML) })
}

async fn close(plane: Arc<Plane>) {
    let mut plane = plane;
    for _ in 0..50 {
        match Arc::try_unwrap(plane) {
            Ok(whole) => return whole.close().await,
            Err(shared) => plane = shared,
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

fn announce(plane: &Plane, audience: &mut dyn Audience) {
    let versions = plane.versions();
    audience.note(&format!(
        "{} on {} (torch {}, triton {}), {} cases",
        plane.device(),
        plane.device_name(),
        versions.torch,
        versions.triton,
        plane.contract().cases.len()
    ));
    for missing in plane.unprotected() {
        audience.note(&format!("not protected: {missing}"));
    }
    for note in &plane.contract().notes {
        audience.note(note);
    }
}

/// The run to go on with.
async fn find_earlier(
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
            &request.output,
            (request.limits, request.generation, &request.ladder, request.scheduler, request.stop),
            (request.seed, request.gamma.to_bits(), request.allow_regression, request.strict),
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

/// Runs the search, from the beginning or from where it stopped.
async fn drive(
    request: &OptimizeRequest,
    store: &Arc<dyn RunStore>,
    earlier: Option<(RunRecord, Vec<Event>)>,
    plane: &Arc<Plane>,
    clock: &SessionClock,
    audience: &mut dyn Audience,
    stop: Stop,
) -> Result<(RunRecord, RunPlan, Search), EngineError> {
    let here = environment(plane);
    let layouts = plane.lay_out(request.seed).await?;
    let (record, plan, mut search) = match earlier {
        Some((record, events)) => resume(record, &events, plane, &here)?,
        None => begin(request, store, plane, audience).await?,
    };
    store.set_environment(&record.id, &here).await?;

    // After a reset it is measured anew.
    if let Some(baseline) = search.state().baseline_evaluation() {
        plane.know_baseline(baseline);
    }
    let fidelity = FidelityRule {
        ladder: plan.search.ladder.clone(),
        cases: plan.search.cases.clone(),
        device: plane.device(),
        seed: plan.seed,
        flush_bytes: plane.flush_bytes(),
        gamma: plan.gamma,
        allow_regression: plan.allow_regression,
        thorough: plan.search.scheduler == SchedulerChoice::FullEvaluation,
    };
    let verify = fidelity.verification(plan.allow_regression);
    let fidelity_seed = fidelity.of_rung(0).seeds[0];
    let fault = FaultSlot::default();
    let profiles = Profiles::of_run(
        plane.device(),
        request.profile,
        search.state().remaining().wall_seconds,
        fidelity_seed,
    );
    if let Some(baseline) = search.state().baseline_evaluation() {
        profiles.know_baseline(baseline);
    }
    let mut evaluator = PlaneEvaluator::new(
        Arc::clone(plane),
        search.state().baseline().clone(),
        fidelity,
        verify,
        plan.search.window,
        profiles,
        fault.clone(),
    );
    let context = facts::context(plane, &record.target, &layouts);
    let mut generator = RecipesGenerator::new(context, plan.seed);
    for known in search.state().records() {
        generator.remember(known.candidate().id.clone());
    }
    let mut journal = StoredJournal::new(Arc::clone(store), record.id.clone());
    let mut observer = |state: &State, event: &Event| audience.observe(state, event);
    let world = World {
        evaluator: &mut evaluator,
        generator: &mut generator,
        journal: &mut journal,
        clock,
        observer: &mut observer,
        stop,
    };
    match search.run(world).await {
        Ok(_) => Ok((store.load(&record.id).await?.0, plan, search)),
        Err(error) => Err(fault.take().map_or_else(|| error.into(), EngineError::from)),
    }
}

/// A new run: audits the contract, records the plan.
async fn begin(
    request: &OptimizeRequest,
    store: &Arc<dyn RunStore>,
    plane: &Plane,
    audience: &mut dyn Audience,
) -> Result<(RunRecord, RunPlan, Search), EngineError> {
    let audit = audit(plane, request.seed).await?;
    judge_audit(&audit, request.strict, audience)?;
    let contract = plane.contract().clone();
    let mut decisive = search::Plan::new(contract.cases.clone(), window(request, plane));
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
    };
    let baseline = Candidate::baseline(request.target.text.clone());
    let search = Search::new(plan.search.clone(), baseline)
        .map_err(|error| EngineError::Usage(error.to_string()))?;
    let created = SystemTime::now();
    let run = NewRun {
        id: run_id(created, &request.target.name),
        key: key(request)?,
        output: request.output.clone(),
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
fn resume(
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

fn plan_of(record: &RunRecord) -> Result<RunPlan, EngineError> {
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
impl Finished {
    /// The exit status that tells a caller how the run ended.
    pub fn exit_status(&self) -> u8 {
        use super::error::exit;
        use crate::report::OutcomeKind;
        match self.report.outcome {
            OutcomeKind::Improved | OutcomeKind::NoImprovement => exit::FINISHED,
            OutcomeKind::Parked => exit::PARKED,
            // The baseline fails its own contract: a matter of the two files.
            OutcomeKind::Failed => exit::USAGE,
        }
    }
}

/// An outcome's name in listings.
pub(super) fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Improved { .. } => "improved",
        Outcome::NoImprovement { .. } => "no improvement",
        Outcome::Parked { .. } => "parked",
        Outcome::Failed { .. } => "failed",
    }
}
