//! A run from its target to its report.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use super::{
    begin::{begin, find_earlier, left_in_folder, plan_of, resume},
    ceilings::illuminate,
    error::EngineError,
    experience::{self, Circumstances},
    facts,
    fidelity::FidelityRule,
    generation::{ModelRoom, MovesGenerator, open_model},
    model::{Answerer, ModelChoice, Priced},
    plane_evaluator::{FaultSlot, PlaneEvaluator},
    profiles::Profiles,
    raise::{Raise, changed_limits},
    recipes_generator::RecipesGenerator,
    reporting,
    review::{ReviewFacts, Reviewer},
    run_plan::RunPlan,
    session::{PlaneOptions, environment, with_database},
    stored_journal::StoredJournal,
};
use crate::{
    evaluate::Plane,
    generate::provider::Provider,
    kernel::Target,
    report::{self, Report},
    search::{
        Event, Generation, Ladder, Limits, Observer, Outcome, SchedulerChoice, Search, SearchError,
        State, Stop, StopRules, World, ports::Clock,
    },
    store::{self, OutputLock, RunRecord, RunState, RunStore, SqliteStore},
};

/// A run that a person asks for.
#[derive(Clone, Debug)]
pub struct OptimizeRequest {
    pub target: Target,
    pub plane: PlaneOptions,
    pub limits: Limits,
    pub generation: Generation,
    /// Language models, where they are to take part.
    pub model: Option<ModelChoice>,
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
    /// `None`: the folder of the run to go on with.
    pub output: Option<PathBuf>,
    pub database: Option<PathBuf>,
    /// End the run with what it has, though questions to a language model are open.
    pub finish: bool,
    /// The run to go on with; without it, an unfinished one of the same command.
    pub resume: Option<String>,
    /// What `resume` may spend and make from now on, where that is to change.
    pub raise: Raise,
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
    stop: Stop,
) -> Result<Finished, EngineError> {
    let clock = SessionClock(Instant::now());
    // Where nothing can be written, nothing is begun.
    let named = request.output.as_deref().map(store::lock_output).transpose()?;
    with_database(request.database.clone(), async |database| {
        optimize_with(database, request, named.as_ref(), &clock, audience, stop).await
    })
    .await
}

/// `named`: the folder that the person names, if any.
async fn optimize_with(
    database: &SqliteStore,
    request: OptimizeRequest,
    named: Option<&OutputLock>,
    clock: &SessionClock,
    audience: &mut dyn Audience,
    mut stop: Stop,
) -> Result<Finished, EngineError> {
    let own = find_earlier(database, &request).await?.map(|(record, _)| record.output);
    // Wherever this session writes to: a run is driven by one session at a time.
    let own = own.filter(|own| Some(own) != request.output.as_ref());
    let own = own.map(|own| store::lock_output(&own)).transpose()?;
    let lock = named.or(own.as_ref());
    let lock = lock.ok_or_else(|| EngineError::Usage("name a folder with --out".into()))?;
    // Whoever held the locks until now may have gone on with it.
    let earlier = find_earlier(database, &request).await?;
    // Before anything is started: what is wrong with a name or a key is known at once.
    let minds = Minds::open(&request, earlier.as_ref().map(|(it, _)| it), database).await?;
    for remark in minds.remarks().await {
        audience.note(&format!("warning: {remark}"));
    }

    let mut target = request.target.clone();
    if let Some((record, _)) = &earlier {
        target = record.target.clone();
        audience.note(&format!("going on with run {}", record.id));
    } else if let Some(id) = left_in_folder(database, &request).await? {
        audience.note(&format!(
            "warning: run {id} was left unfinished in this folder by a command with other options, or by \
             another version; this one begins anew (--resume {id} goes on with that one)"
        ));
    }
    let plane = tokio::select! {
        plane = request.plane.start(target) => Arc::new(plane?),
        () = stop.wait() => return Err(SearchError::Interrupted.into()),
    };
    announce(&plane, audience);
    let mut note = |text: &str| audience.note(text);
    tokio::select! {
        () = illuminate(&plane, &request.plane, Some(database), request.calibrate, &mut note) => {}
        () = stop.wait() => {
            close(plane).await;
            return Err(SearchError::Interrupted.into());
        }
    }
    let house = House { request: &request, output: lock.folder(), database, plane: &plane, clock };
    let result = drive(house, minds, earlier, audience, stop).await;
    // Evaluations that were dropped hold the plane until their tasks are gone.
    close(plane).await;
    let Driven { record, plan, search, awaiting } = result?;
    let mut report = reporting::report(&record, &plan, search.state());
    if let Some(generation) = &mut report.generation {
        generation.awaiting = awaiting;
    }
    report::write(&report, lock.folder())?;
    if let (Some(Outcome::Parked { .. }), Some(choice)) = (&record.outcome, &request.model) {
        audience.note(&choice.how_to_answer());
    }
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

/// What a run has from its beginning to its end.
#[derive(Clone, Copy)]
struct House<'h> {
    request: &'h OptimizeRequest,
    output: &'h Path,
    database: &'h SqliteStore,
    plane: &'h Arc<Plane>,
    clock: &'h SessionClock,
}

/// The language models of a run.
struct Minds<'m> {
    choice: Option<&'m ModelChoice>,
    answerer: Option<Answerer>,
    reviewer: Option<Priced<Arc<dyn Provider>>>,
}

/// A run that asked a language model goes on with one, or is told to end without.
fn refuse_to_forget_questions(record: &RunRecord) -> Result<(), EngineError> {
    let plan: RunPlan = plan_of(record)?;
    let Some(model) = plan.model.filter(|_| record.state == RunState::Parked) else {
        return Ok(());
    };
    Err(EngineError::Usage(format!(
        "run {} waits for answers of {model}: name a model with --model, or end it with what it has \
         by --finish",
        record.id
    )))
}

impl<'m> Minds<'m> {
    async fn open(
        request: &'m OptimizeRequest,
        earlier: Option<&RunRecord>,
        store: &SqliteStore,
    ) -> Result<Self, EngineError> {
        let choice = request.model.as_ref();
        let limited = request.limits.usd.is_some();
        let named = choice.is_some_and(|choice| choice.spec.is_some() || choice.finish);
        if let Some(record) = earlier.filter(|_| !named && !request.finish) {
            refuse_to_forget_questions(record)?;
        }
        let (answerer, reviewer) = match choice {
            Some(choice) => {
                (choice.answerer(store, limited).await?, choice.open_reviewer(limited)?)
            }
            None => (None, None),
        };
        Ok(Self { choice, answerer, reviewer })
    }

    /// What whoever answers should know.
    async fn remarks(&self) -> Vec<String> {
        match &self.answerer {
            Some(Answerer::Provider(provider, _)) => provider.remarks().await,
            Some(Answerer::Recording(_)) | None => Vec::new(),
        }
    }

    /// Whoever reads the winner of a run.
    fn reviewer(
        &self,
        plan: &RunPlan,
        target: &Target,
        plane: &Plane,
    ) -> Result<Option<Reviewer>, EngineError> {
        let Some((provider, price)) = self.reviewer.clone() else { return Ok(None) };
        let templates = self.choice.and_then(|choice| choice.settings.templates.as_deref());
        let facts = ReviewFacts::of_run(plan, target, plane.device_name());
        let reviewer = Reviewer::new(provider, facts, templates);
        let reviewer = reviewer.map(|reviewer| reviewer.at(price));
        reviewer.map(Some).map_err(|error| EngineError::Usage(error.to_string()))
    }
}

/// A run as its search left it.
struct Driven {
    record: RunRecord,
    plan: RunPlan,
    search: Search,
    /// Questions to a language model that somebody outside has to answer.
    awaiting: Vec<String>,
}

/// Runs the search, from the beginning or from where it stopped.
async fn drive(
    house: House<'_>,
    minds: Minds<'_>,
    earlier: Option<(RunRecord, Vec<Event>)>,
    audience: &mut dyn Audience,
    stop: Stop,
) -> Result<Driven, EngineError> {
    let House { request, output, database, plane, clock } = house;
    let store: Arc<dyn RunStore> = Arc::new(database.clone());
    let here = environment(plane);
    let layouts = plane.lay_out(request.seed).await?;
    let target = earlier.as_ref().map_or(&request.target, |(record, _)| &record.target).clone();
    let context = facts::context(plane, &target, &layouts);
    let circumstances = |run: &str| {
        let gradients = !plane.contract().grads.is_empty();
        let (name, text) = (&target.name, &target.text);
        Circumstances::new(run, name, text, &context, gradients, plane.device(), &here.triton)
    };
    let (record, plan, mut search) = match earlier {
        Some((record, mut events)) => {
            let change = changed_limits(request, &record, &events)?;
            if let Some(change) = &change {
                store.append(&record.id, std::slice::from_ref(change)).await?;
                events.push(change.clone());
            }
            let (record, plan, search) = resume(record, &events, plane, &here)?;
            if let Some(said) = search.state().warnings().last().filter(|_| change.is_some()) {
                audience.note(said);
            }
            (record, plan, search)
        }
        None => {
            let known = match circumstances("") {
                Some(circumstances) => experience::recall(database, &circumstances).await?,
                None => Default::default(),
            };
            begin(request, &store, plane, output, known, audience).await?
        }
    };
    store.set_environment(&record.id, &here).await?;

    // After a reset it is measured anew.
    if let Some(baseline) = search.state().baseline_evaluation() {
        plane.know_baseline(baseline);
    }
    let recipes = RecipesGenerator::new(context.clone(), plan.seed);
    let mut recipes = recipes.watching(Arc::clone(plane));
    for known in search.state().records() {
        recipes.remember(known.candidate().id.clone());
    }
    let circumstances = circumstances(&record.id);
    let reviewer = minds.reviewer(&plan, &target, plane)?;
    let model = match (minds.choice, minds.answerer) {
        (Some(choice), Some(answerer)) => {
            let room = ModelRoom {
                run: &record.id,
                store: database,
                plane,
                target: &target,
                context: &context,
                bounds: &plan.bounds,
                experience: &plan.experience,
                operator: circumstances.as_ref().map_or("", |it| &it.operator),
                seed: plan.seed,
                state: search.state(),
            };
            Some(open_model(choice, answerer, room).await?)
        }
        _ => None,
    };
    let mut generator = MovesGenerator::new(recipes, model);
    let fault = FaultSlot::default();
    let mut evaluator =
        evaluator(house, &plan, search.state(), fault.clone()).with_reviewer(reviewer);
    let mut journal = StoredJournal::new(Arc::clone(&store), record.id.clone());
    let mut observer = |state: &State, event: &Event| audience.observe(state, event);
    let world = World {
        evaluator: &mut evaluator,
        generator: &mut generator,
        journal: &mut journal,
        clock,
        observer: &mut observer,
        stop,
    };
    let ended = search.run(world).await;
    if let Some(circumstances) = &circumstances
        && let Err(error) = experience::remember(database, circumstances, search.state()).await
    {
        audience.note(&format!("warning: nothing was remembered of this run: {error}"));
    }
    match ended {
        Ok(_) => {
            let (record, _) = store.load(&record.id).await?;
            Ok(Driven { record, plan, search, awaiting: generator.awaiting() })
        }
        Err(error) => Err(fault.take().map_or_else(|| error.into(), EngineError::from)),
    }
}

/// The search's evaluator, for a run that stands at `state`.
fn evaluator(house: House<'_>, plan: &RunPlan, state: &State, fault: FaultSlot) -> PlaneEvaluator {
    let House { request, plane, .. } = house;
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
    let profiles = Profiles::of_run(
        plane.device(),
        request.profile,
        state.remaining().wall_seconds,
        fidelity.of_rung(0).seeds[0],
        plan.search.generation.rewrites.is_some(),
    );
    if let Some(baseline) = state.baseline_evaluation() {
        profiles.know_baseline(baseline);
    }
    PlaneEvaluator::new(
        Arc::clone(plane),
        state.baseline().clone(),
        fidelity,
        verify,
        plan.search.window,
        profiles,
        fault,
    )
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
