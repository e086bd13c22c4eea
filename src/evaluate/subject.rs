//! A candidate that is being judged in its child: one step each.

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    blame::Stage,
    burst::Pace,
    child::{ChildProcess, Launches},
    driver::Ending,
    error::EvaluateError,
    judge::Stop,
    plane::{Device, Plane},
    protocol::{Compared, Compiled, Observed, Ran, Returned},
    steps::Steps,
    tuning::Tuning,
    watch::WatchGuard,
};
use crate::kernel::{BuildFacts, Candidate, CandidateId, Gate, Rejection};

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
    pub(super) baseline: bool,
    /// Since it was killed.
    pub(super) ending: Option<Ending<'p>>,
    pub(super) steps: Steps,
    /// What the first call on each case took.
    pub(super) first_calls: HashMap<usize, FirstCall>,
}

/// What a case waits for until it was called once, by this process's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstCall {
    compile: Duration,
    pub(super) run: Option<Duration>,
}

/// Asks a child to import the candidate whose source is at `path`.
pub(super) fn load_request(plane: &Plane, path: &Path, tuning: Tuning) -> Value {
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
        "tuning": tuning.name(),
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
    pub(super) async fn start(
        plane: &'p Plane,
        candidate: &Candidate,
        tuning: Tuning,
    ) -> Result<Self, Stop> {
        let (steps, begun) = (Steps::default(), Instant::now());
        let child = plane.fork().await?;
        steps.note("fork", begun);
        let path = child.scratch().join("candidate.py");
        std::fs::write(&path, candidate.source.as_bytes())
            .map_err(|source| EvaluateError::Scratch { path: path.clone(), source })?;
        let watch = plane.watch.over(child.pid(), child.scratch(), plane.config.quota);
        let mut subject = Self::of(plane, child, watch, candidate);
        subject.steps = steps;
        let request = load_request(plane, &path, tuning);
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

    /// Compiles for the device, without a launch and outside the GPU turn.
    pub(super) async fn compile(&mut self, cases: &[usize], seed: u64) -> Result<Built, Stop> {
        let capability = match self.plane.config.device {
            Device::Cuda { capability, .. } => Some(capability),
            Device::Cpu => None,
        };
        let mut built = Built::default();
        for &case in cases {
            let layout = self.plane.layout(case, seed).await?;
            let request = json!({
                "inputs": layout,
                "call": self.call,
                "capability": capability,
                "properties": self.plane.properties,
            });
            let mut limit = self.plane.config.limits.compile;
            if !self.baseline {
                limit = self.plane.standards.compile_limit(limit);
            }
            let started = Instant::now();
            match self.child.compile(request, limit).await {
                Ok(compiled) => {
                    self.steps.note("compile", started);
                    self.first_calls.entry(case).or_default().compile = started.elapsed();
                    if self.baseline {
                        self.plane.standards.set_compile(started.elapsed());
                    }
                    if let Some(why) = &compiled.skipped {
                        tracing::debug!(candidate = %self.id, case, why, "not all compiled");
                    }
                    built.add(compiled);
                }
                Err(error) => return Err(self.blame(Stage::Compile, error).await),
            }
        }
        Ok(built)
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
            if self.baseline {
                self.plane.note_launched(&name, &ran);
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
