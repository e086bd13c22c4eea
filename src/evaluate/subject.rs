//! A candidate that is being judged in its child: one step each.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    blame::Stage,
    child::{ChildProcess, Launches},
    error::EvaluateError,
    judge::{Fidelity, Findings, Stop},
    plane::{Device, Plane},
    protocol::{Compared, Ran, Returned, Timed, Timing},
    statistics::median,
    turn::Turn,
    watch::WatchGuard,
    wire::WireError,
};
use crate::kernel::{BuildFacts, Candidate, CandidateId, CaseMeasurement, Gate, Rejection};

/// A burst may end early, but not before this many calls (`timing.py` keeps the same number).
const LEAST_CALLS: usize = 3;

/// A candidate that is being judged in its child.
#[derive(Debug)]
pub(super) struct Subject<'p> {
    plane: &'p Plane,
    pub(super) child: ChildProcess,
    pub(super) watch: WatchGuard,
    call: Value,
    id: CandidateId,
}

impl<'p> Subject<'p> {
    /// Forks a child and imports the candidate there.
    pub(super) async fn start(plane: &'p Plane, candidate: &Candidate) -> Result<Self, Stop> {
        let child = plane.fork().await?;
        let path = child.scratch().join("candidate.py");
        std::fs::write(&path, candidate.source.as_bytes())
            .map_err(|source| EvaluateError::Scratch { path: path.clone(), source })?;
        let contract = &plane.contract;
        let call = json!({
            "kind": contract.kind, "mutates": contract.mutates, "grads": contract.grads,
        });
        let watch = plane.watch.over(child.pid(), plane.config.quota);
        let mut subject = Self { plane, child, watch, call, id: candidate.id.clone() };
        let target = &plane.config.target;
        let package = target.package.as_ref();
        let entries = match &target.entry.function {
            Some(function) => vec![function.clone()],
            None => contract.entries.clone(),
        };
        let request = json!({
            "device": plane.config.device.to_string(),
            "path": path,
            "module": package.map(|package| &package.module),
            "sys_path": package.iter().map(|package| &package.import_root).collect::<Vec<_>>(),
            "origin": package.map(|_| &target.source),
            "entry_module": target.entry.module,
            "entries": entries,
        });
        let loaded = subject.child.load(request, plane.config.limits.import).await;
        match loaded {
            Ok(loaded) => {
                tracing::debug!(candidate = %subject.id, kernels = ?loaded.kernels, "loaded");
                Ok(subject)
            }
            Err(error) => {
                let stop = subject.blame(Stage::Import, error).await;
                subject.end().await;
                Err(stop)
            }
        }
    }

    /// Ends the child.
    pub(super) async fn end(self) {
        drop(self.watch);
        self.plane.discard(self.child).await;
    }

    pub(super) async fn measure(
        &mut self,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        findings.build = self.compile(&fidelity.cases, fidelity.seeds[0]).await?;
        if !fidelity.start_in_turn {
            self.attach(fidelity.cases[0], fidelity.seeds[0]).await?;
        }
        let turn = self.plane.turn.take().await;
        let result = self.measure_in_turn(fidelity, findings).await;
        // Nothing of this candidate may still run when the next one is timed.
        self.child.kill();
        findings.gpu_seconds = turn.seconds();
        drop::<Turn>(turn);
        result
    }

    async fn measure_in_turn(
        &mut self,
        fidelity: &Fidelity,
        findings: &mut Findings,
    ) -> Result<(), Stop> {
        for &case in &fidelity.cases {
            let mut error = self.check(case, &fidelity.seeds).await?;
            let seed = fidelity.seeds[0];
            let timed = if fidelity.compare_timed {
                let (timed, late_error) = self.time(case, seed, fidelity.timing).await?;
                error = error.max(late_error);
                timed
            } else {
                // Not the cached layout: numbers and sizes may depend on the seed.
                let inputs = self.inputs(case, seed).await?;
                self.burst(case, &inputs, fidelity.timing).await?
            };
            let latency_us = self.latency(case, &timed)?;
            findings.cases.push(CaseMeasurement {
                case: self.plane.contract.cases[case].name.clone(),
                latency_us,
                host_us: timed.host_us.filter(|us| us.is_finite() && *us >= 0.0),
                backward_us: timed.backward_us.as_deref().and_then(median),
                error: error.is_finite().then_some(error),
            });
        }
        Ok(())
    }

    /// Compiles for the device, without a launch and outside the GPU turn.
    pub(super) async fn compile(
        &mut self,
        cases: &[usize],
        seed: u64,
    ) -> Result<Vec<BuildFacts>, Stop> {
        let Device::Cuda { capability, .. } = self.plane.config.device else {
            return Ok(Vec::new());
        };
        let mut facts: Vec<BuildFacts> = Vec::new();
        for &case in cases {
            let layout = self.plane.layout(case, seed).await?;
            let request = json!({
                "inputs": layout, "call": self.call, "capability": [capability.0, capability.1],
            });
            let limit = self.plane.config.limits.compile;
            match self.child.compile(request, limit).await {
                Ok(compiled) => {
                    for fact in compiled.kernels {
                        if !facts.contains(&fact) {
                            facts.push(fact);
                        }
                    }
                }
                Err(error) => return Err(self.blame(Stage::Compile, error).await),
            }
        }
        Ok(facts)
    }

    /// Creates the device context, opens the buffers of a case and warms up torch and Triton.
    pub(super) async fn attach(&mut self, case: usize, seed: u64) -> Result<(), Stop> {
        let layout = self.plane.layout(case, seed).await?;
        let limit = self.plane.config.limits.call;
        match self.child.attach(&layout, &self.call, limit).await {
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
            let ran: Ran = match self.child.run(&inputs, &self.call, Launches::Real, limit).await {
                Ok(ran) => ran,
                Err(error) => return Err(self.blame(Stage::Call { case: &name }, error).await),
            };
            for note in &ran.notes {
                tracing::debug!(candidate = %self.id, case = name, note, "note of the child");
            }
            let compared =
                self.compare(case, seed, &ran.returned, ran.gradients.as_deref()).await?;
            worst = worst.max(compared);
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

    /// Times the entry on a case, then has the answer of the last timed call compared.
    pub(super) async fn time(
        &mut self,
        case: usize,
        seed: u64,
        timing: Timing,
    ) -> Result<(Timed, f64), Stop> {
        let inputs = self.inputs(case, seed).await?;
        let timed = self.burst(case, &inputs, timing).await?;
        let error = self.compare(case, seed, &timed.returned, timed.gradients.as_deref()).await?;
        Ok((timed, error))
    }

    /// Times the entry on inputs that are in place.
    pub(super) async fn burst(
        &mut self,
        case: usize,
        inputs: &Value,
        timing: Timing,
    ) -> Result<Timed, Stop> {
        let limit = self.plane.config.limits.call;
        let started = Instant::now();
        let timed: Timed = match self.child.time(inputs, &self.call, timing, limit).await {
            Ok(timed) => timed,
            Err(error) => {
                let name = self.plane.contract.cases[case].name.clone();
                return Err(self.blame(Stage::Timing { case: &name }, error).await);
            }
        };
        self.check_clock(case, &timed, timing, started.elapsed())?;
        Ok(timed)
    }

    pub(super) async fn inputs(&self, case: usize, seed: u64) -> Result<Value, EvaluateError> {
        let mut referee = self.plane.referee.lock().await;
        referee.inputs(case, &self.plane.contract.cases[case], seed).await
    }

    async fn compare(
        &self,
        case: usize,
        seed: u64,
        returned: &[Returned],
        gradients: Option<&[Option<Returned>]>,
    ) -> Result<f64, Stop> {
        let name = &self.plane.contract.cases[case];
        let mut referee = self.plane.referee.lock().await;
        let compared: Compared = referee.compare(case, name, seed, returned, gradients).await?;
        if compared.pass {
            return Ok(compared.error.unwrap_or(0.0));
        }
        let gate = compared.gate.unwrap_or(Gate::Correctness);
        let reason = compared.reason.unwrap_or_else(|| "differs from the reference".into());
        Err(Rejection::new(gate, format!("{reason} (seed {seed})")).on_case(&name.name).into())
    }

    /// The times that a child reports cannot add up to more than passed here, and there is one
    /// for each timed call: as many as were asked for, or enough of them by their sum.
    fn check_clock(
        &self,
        case: usize,
        timed: &Timed,
        timing: Timing,
        passed: Duration,
    ) -> Result<(), Rejection> {
        let name = &self.plane.contract.cases[case].name;
        let reported: f64 = timed.device_us.iter().sum();
        let calls = timed.device_us.len();
        let whole = calls == timing.repeat as usize
            || (LEAST_CALLS..timing.repeat as usize).contains(&calls)
                && reported >= timing.enough_us as f64;
        let sound = whole && timed.device_us.iter().all(|us| us.is_finite() && *us > 0.0);
        let passed_us = passed.as_secs_f64() * 1e6;
        if sound && reported <= passed_us {
            return Ok(());
        }
        let reason = format!(
            "reported {} timed calls of {reported:.1} µs together; asked for {} calls, and {passed_us:.1} µs passed",
            timed.device_us.len(),
            timing.repeat,
        );
        Err(Rejection::new(Gate::Integrity, reason).on_case(name))
    }

    /// The median of the timed calls, microseconds.
    fn latency(&self, case: usize, timed: &Timed) -> Result<f64, Rejection> {
        median(&timed.device_us).ok_or_else(|| {
            Rejection::new(Gate::Integrity, "reported no times")
                .on_case(&self.plane.contract.cases[case].name)
        })
    }
}
