//! A candidate that is being judged in its child: one step each.

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::SemaphorePermit;

use super::{
    blame::Stage,
    burst::Pace,
    child::{ChildProcess, Launches},
    companion::Borrowed,
    driver::Ending,
    error::EvaluateError,
    judge::{Fidelity, Findings, Stop},
    light::Sighting,
    measure::{CaseSize, Measured},
    plane::{Device, Plane},
    protocol::{Compared, Compiled, Observed, Ran, Returned},
    steps::Steps,
    turn::Turn,
    watch::WatchGuard,
    wire::WireError,
};
use crate::kernel::{BuildFacts, Candidate, CandidateId, CaseMeasurement, Gate, Rejection};

/// Work of a candidate goes through one hardware queue of the device where it only is ranked: the
/// context is made in half the time, and a dozen others wait for theirs. A kernel that keeps
/// several streams busy at once is underestimated there, and timed as it is above.
const SCREENING_QUEUES: u32 = 1;

/// In the interpreter, far more than what surrounds a call.
const LONG_INTERPRETED_CALL: Duration = Duration::from_millis(500);

/// What compiling for some cases has shown.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) kernels: Vec<BuildFacts>,
    /// Of the program on each case, where it is known.
    pub(super) identities: Vec<Option<String>>,
}

impl Built {
    fn add(&mut self, compiled: Compiled) {
        for fact in compiled.kernels {
            if !self.kernels.contains(&fact) {
                self.kernels.push(fact);
            }
        }
        self.identities.push(compiled.identity);
    }
}

/// A candidate that is being judged in its child.
#[derive(Debug)]
pub(super) struct Subject<'p> {
    pub(super) plane: &'p Plane,
    pub(super) child: ChildProcess,
    pub(super) watch: WatchGuard,
    /// How the contract calls, as a child is told.
    pub(super) call: Value,
    pub(super) id: CandidateId,
    pub(super) pace: Pace,
    baseline: bool,
    /// Since it was killed.
    ending: Option<Ending<'p>>,
    pub(super) steps: Steps,
    /// What the first call on each case took.
    first_calls: HashMap<usize, FirstCall>,
}

/// What a case waits for until it was called once, by this process's clock.
#[derive(Clone, Copy, Debug, Default)]
struct FirstCall {
    compile: Duration,
    run: Option<Duration>,
}

/// Asks a child to import the candidate whose source is at `path`.
pub(super) fn load_request(plane: &Plane, path: &Path) -> Value {
    let target = &plane.config.target;
    let package = target.package.as_ref();
    let entries = match &target.entry.function {
        Some(function) => vec![function.clone()],
        None => plane.contract.entries.clone(),
    };
    json!({
        "device": plane.config.device.to_string(),
        "path": path,
        "module": package.map(|package| &package.module),
        "sys_path": package.iter().map(|package| &package.import_root).collect::<Vec<_>>(),
        "origin": package.map(|_| &target.source),
        "entry_module": target.entry.module,
        "entries": entries,
    })
}

impl<'p> Subject<'p> {
    /// A candidate in a child that was started for it.
    pub(super) fn of(
        plane: &'p Plane,
        child: ChildProcess,
        watch: WatchGuard,
        candidate: &Candidate,
    ) -> Self {
        Self {
            plane,
            child,
            watch,
            call: plane.call(),
            id: candidate.id.clone(),
            pace: Pace::default(),
            baseline: candidate.parent.is_none(),
            ending: None,
            steps: Steps::default(),
            first_calls: HashMap::new(),
        }
    }

    /// Forks a child and imports the candidate there.
    pub(super) async fn start(plane: &'p Plane, candidate: &Candidate) -> Result<Self, Stop> {
        let (steps, begun) = (Steps::default(), Instant::now());
        let child = plane.fork().await?;
        steps.note("fork", begun);
        let path = child.scratch().join("candidate.py");
        std::fs::write(&path, candidate.source.as_bytes())
            .map_err(|source| EvaluateError::Scratch { path: path.clone(), source })?;
        let watch = plane.watch.over(child.pid(), child.scratch(), plane.config.quota);
        let mut subject = Self::of(plane, child, watch, candidate);
        subject.steps = steps;
        let request = load_request(plane, &path);
        let begun = Instant::now();
        let loaded = subject.child.load(request, plane.config.limits.import).await;
        subject.steps.note("load", begun);
        match loaded {
            Ok(loaded) => {
                tracing::debug!(candidate = %subject.id, kernels = ?loaded.kernels, "loaded");
                match subject.judge_observed(&loaded.observed) {
                    Ok(()) => Ok(subject),
                    Err(rejection) => {
                        subject.end().await;
                        Err(rejection.into())
                    }
                }
            }
            Err(error) => {
                let stop = subject.blame(Stage::Import, error).await;
                subject.end().await;
                Err(stop)
            }
        }
    }

    pub(super) fn plane(&self) -> &'p Plane {
        self.plane
    }

    pub(super) fn is_baseline(&self) -> bool {
        self.baseline
    }

    /// The longest that a first call took, compilation included, milliseconds.
    pub(super) fn first_call_ms(&self) -> Option<f64> {
        let whole = |call: &FirstCall| Some((call.compile + call.run?).as_secs_f64() * 1e3);
        self.first_calls.values().filter_map(whole).reduce(f64::max)
    }

    /// Rejects a candidate for what its process was seen to do, unless the baseline does it too.
    pub(super) fn judge_observed(&self, observed: &[Observed]) -> Result<(), Rejection> {
        if self.baseline {
            self.plane.habits.learn(observed);
            return Ok(());
        }
        let Some(first) = observed.iter().find(|it| !self.plane.habits.include(it)) else {
            return Ok(());
        };
        Err(Rejection::new(Gate::Integrity, first.what.clone()).at_line(first.line))
    }

    /// Ends the child.
    pub(super) async fn end(self) {
        drop(self.watch);
        let begun = Instant::now();
        self.plane.discard(self.child).await;
        drop(self.ending);
        self.steps.note("end", begun);
        tracing::debug!(candidate = %self.id, steps = %self.steps.json(), "evaluated");
    }

    pub(super) async fn measure(
        &mut self,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        let on_deck = self.stand_ready(fidelity).await?;
        let mut baseline = match fidelity.rounds {
            Some(rounds) if rounds.paired => {
                let seed = fidelity.seeds[0];
                self.plane.borrow_baseline(&self.id, &fidelity.cases, seed).await
            }
            _ => None,
        };
        let begun = Instant::now();
        // Before the turn, which others can use as long as somebody still stirs the driver.
        let quiet = if fidelity.quiet { Some(self.plane.driver.quiet().await) } else { None };
        let turn = self.plane.turn.take().await;
        if quiet.is_some() {
            self.plane.driver.settled().await;
        }
        self.steps.note("wait for the turn", begun);
        let begun = Instant::now();
        let result = self.measure_in_turn(fidelity, baseline.as_mut(), findings).await;
        // Nothing of this candidate may still run when the next one is timed.
        self.child.kill();
        self.ending = Some(self.plane.driver.ending());
        if let Some(baseline) = &mut baseline {
            baseline.rest().await;
        }
        findings.gpu_seconds = turn.seconds();
        self.steps.note("turn", begun);
        drop::<Turn>(turn);
        drop(quiet);
        drop(on_deck);
        if let Some(baseline) = baseline {
            baseline.put_back().await;
        }
        result
    }

    /// Does before the turn what takes the driver's locks, which those who create or end a context
    /// hold for long: context, buffers, memory, binaries. The permit bounds how many children hold
    /// memory at a time.
    async fn stand_ready(
        &mut self,
        fidelity: &Fidelity,
    ) -> Result<Option<SemaphorePermit<'p>>, Stop> {
        let plane = self.plane;
        let mut layouts = Vec::new();
        for &case in &fidelity.cases {
            layouts.push((case, plane.layout(case, fidelity.seeds[0]).await?));
        }
        let largest = layouts.iter().max_by_key(|(_, layout)| CaseSize::of(layout).outputs);
        let Some((_, mut layout)) = largest.cloned() else { return Ok(None) };
        layout["buffers"] = plane.openings.of_all(layouts);
        if plane.config.device == Device::Cpu {
            self.attach(&layout, None).await?;
            return Ok(None);
        }
        let begun = Instant::now();
        let door = plane.doors.acquire().await.ok();
        let stirring = plane.driver.stir().await;
        self.steps.note("wait for a door", begun);
        let begun = Instant::now();
        let queues = (!fidelity.quiet).then_some(SCREENING_QUEUES);
        self.attach(&layout, queues).await?;
        self.steps.note("attach", begun);
        // Whoever is on deck may wait for quiet.
        drop((door, stirring));
        let begun = Instant::now();
        let permit = plane.deck.acquire().await.ok();
        let stirring = plane.driver.stir().await;
        self.steps.note("wait for the deck", begun);
        let limit = plane.config.limits.call;
        let begun = Instant::now();
        let plan = self.plan_of(fidelity, &layout);
        let prepared = self.child.prepare(&layout, &plan, limit).await;
        self.steps.note("prepare", begun);
        drop(stirring);
        match prepared {
            // It is there to save time; what really fails fails again in the call.
            Ok(_) | Err(WireError::Refused(_)) => Ok(permit),
            Err(error) => Err(self.blame(Stage::Start, error).await),
        }
    }

    async fn measure_in_turn(
        &mut self,
        fidelity: &Fidelity,
        mut baseline: Option<&mut Borrowed<'_>>,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        for &case in &fidelity.cases {
            self.measure_case(case, fidelity, baseline.as_deref_mut(), findings).await?;
            if self.is_hopeless(case, fidelity, findings).await? {
                findings.ended_at = findings.cases.last().map(|it| it.case.clone());
                return Ok(());
            }
        }
        if fidelity.observe {
            findings.observed = Some(self.observe(fidelity).await?);
        }
        Ok(())
    }

    /// Whether the case that was measured last took so long that the others are left out. What is
    /// not far beyond the limit is looked at once more: it may have been disturbed.
    async fn is_hopeless(
        &mut self,
        case: usize,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<bool, Stop> {
        let standards = &self.plane.standards;
        let Some((factor, measured)) = fidelity.hopeless_at.zip(findings.cases.last_mut()) else {
            return Ok(false);
        };
        if self.baseline || !standards.exceeded(measured, factor) {
            return Ok(false);
        }
        if self.plane.config.device != Device::Cpu && !standards.exceeded(measured, 1.5 * factor) {
            let again = self.look(case, fidelity.seeds[0], fidelity.timing).await?;
            measured.latency_us = measured.latency_us.min(again.latency_us);
        }
        Ok(standards.exceeded(measured, factor))
    }

    async fn measure_case(
        &mut self,
        case: usize,
        fidelity: &Fidelity,
        baseline: Option<&mut Borrowed<'_>>,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        let error = self.check(case, &fidelity.seeds).await?;
        let seed = fidelity.seeds[0];
        let measured = match (fidelity.rounds, self.seen_enough(case)) {
            (None, Some(seen)) => seen,
            (None, None) => self.look(case, seed, fidelity.timing).await?,
            (Some(rounds), _) => {
                self.run_rounds(case, seed, baseline, fidelity.timing, rounds).await?
            }
        };
        let error = error.max(measured.error);
        self.plane
            .check_light(Sighting {
                candidate: &self.id,
                case,
                seed,
                latency_us: measured.latency_us,
                timing: fidelity.timing,
            })
            .await?;
        findings.disturbed += measured.disturbed;
        findings.cases.push(CaseMeasurement {
            case: self.plane.contract.cases[case].name.clone(),
            latency_us: measured.latency_us,
            baseline_us: measured.baseline_us,
            host_us: measured.host_us,
            backward_us: measured.backward_us,
            error: error.is_finite().then_some(error),
        });
        Ok(())
    }

    /// A call of the interpreter that took this long says about as much as another one would, and is
    /// most of what a candidate costs.
    fn seen_enough(&self, case: usize) -> Option<Measured> {
        let run = self.first_calls.get(&case)?.run?;
        let long = self.plane.config.device == Device::Cpu && run >= LONG_INTERPRETED_CALL;
        let name = &self.plane.contract.cases[case].name;
        let latency_us = self.plane.standards.by_first_call(name, run).filter(|_| long)?;
        Some(Measured::of_one_call(latency_us))
    }

    /// Compiles for the device, without a launch and outside the GPU turn.
    pub(super) async fn compile(&mut self, cases: &[usize], seed: u64) -> Result<Built, Stop> {
        let capability = match self.plane.config.device {
            Device::Cuda { capability, .. } => Some(capability),
            Device::Cpu => None,
        };
        let mut built = Built::default();
        for &case in cases {
            let layout = self.plane.layout(case, seed).await?;
            let request = json!({"inputs": layout, "call": self.call, "capability": capability});
            let limit = self.plane.config.limits.compile;
            let started = Instant::now();
            match self.child.compile(request, limit).await {
                Ok(compiled) => {
                    self.steps.note("compile", started);
                    self.first_calls.entry(case).or_default().compile = started.elapsed();
                    built.add(compiled);
                }
                Err(error) => return Err(self.blame(Stage::Compile, error).await),
            }
        }
        Ok(built)
    }

    /// Creates the device context, opens the buffers of a case and warms up torch and Triton.
    async fn attach(&mut self, inputs: &Value, queues: Option<u32>) -> Result<(), Stop> {
        let limit = self.plane.config.limits.call;
        match self.child.attach(inputs, queues, limit).await {
            // Where sizes depend on the seed the buffers may be others by now, which is no fault of
            // the candidate's; what really fails fails again in the call.
            Ok(_) | Err(WireError::Refused(_)) => Ok(()),
            Err(error) => Err(self.blame(Stage::Start, error).await),
        }
    }

    /// Calls on every seed and has the answers compared; gives the largest error in units of the
    /// tolerance.
    pub(super) async fn check(&mut self, case: usize, seeds: &[u64]) -> Result<f64, Stop> {
        let contract = &self.plane.contract;
        let name = contract.cases[case].name.clone();
        let mut worst: f64 = 0.0;
        for &seed in seeds {
            let inputs = self.inputs(case, seed).await?;
            let limit = self.plane.config.limits.call;
            let started = Instant::now();
            let ran: Ran = match self.child.run(&inputs, &self.call, Launches::Real, limit).await {
                Ok(ran) => ran,
                Err(error) => return Err(self.blame(Stage::Call { case: &name }, error).await),
            };
            self.steps.note("run", started);
            let first = self.first_calls.entry(case).or_default();
            if self.baseline && first.run.is_none() {
                self.plane.standards.set_first_call(&name, started.elapsed());
            }
            first.run.get_or_insert(started.elapsed());
            for note in &ran.notes {
                tracing::debug!(candidate = %self.id, case = name, note, "note of the child");
            }
            let compared = self.compare(case, seed, &ran.returned, ran.gradients.as_deref()).await;
            let wrong =
                matches!(&compared, Err(Stop::Rejected(it)) if it.gate == Gate::Correctness);
            if compared.is_ok() || wrong {
                // Tampering says more than the wrong values that come of it.
                self.judge_observed(&ran.observed).map_err(|it| it.on_case(&name))?;
            }
            worst = worst.max(compared?);
            if ran.launched.is_empty() {
                let reason = "the entry launched no Triton kernel";
                return Err(Rejection::new(Gate::Integrity, reason).on_case(name).into());
            }
        }
        Ok(worst)
    }

    /// Calls once with launches that do nothing: an answer that is right all the same is not the
    /// kernels' work.
    pub(super) async fn check_kernels_matter(
        &mut self,
        case: usize,
        seed: u64,
    ) -> Result<(), Stop> {
        let inputs = self.inputs(case, seed).await?;
        let limit = self.plane.config.limits.call;
        let Ok(ran) = self.child.run(&inputs, &self.call, Launches::Muted, limit).await else {
            // Without the kernels' work the host code may well fail.
            return Ok(());
        };
        if self.compare(case, seed, &ran.returned, ran.gradients.as_deref()).await.is_err() {
            return Ok(());
        }
        let reason = "the answer is right even when its Triton kernels do nothing: the work is done \
                      elsewhere, or remembered";
        let name = &self.plane.contract.cases[case].name;
        Err(Rejection::new(Gate::Integrity, reason).on_case(name).into())
    }

    pub(super) async fn inputs(&self, case: usize, seed: u64) -> Result<Value, EvaluateError> {
        let begun = Instant::now();
        let mut referee = self.plane.referee.lock().await;
        let inputs = referee.inputs(case, &self.plane.contract.cases[case], seed).await;
        self.steps.note("inputs", begun);
        if let Ok(inputs) = &inputs {
            self.plane.openings.note(case, inputs);
        }
        inputs
    }

    pub(super) async fn compare(
        &self,
        case: usize,
        seed: u64,
        returned: &[Returned],
        gradients: Option<&[Option<Returned>]>,
    ) -> Result<f64, Stop> {
        let name = &self.plane.contract.cases[case];
        let mut referee = self.plane.referee.lock().await;
        let begun = Instant::now();
        let compared: Compared = referee.compare(case, name, seed, returned, gradients).await?;
        self.steps.note("compare", begun);
        if compared.pass {
            return Ok(compared.error.unwrap_or(0.0));
        }
        let gate = compared.gate.unwrap_or(Gate::Correctness);
        let reason = compared.reason.unwrap_or_else(|| "differs from the reference".into());
        Err(Rejection::new(gate, format!("{reason} (seed {seed})")).on_case(&name.name).into())
    }
}
