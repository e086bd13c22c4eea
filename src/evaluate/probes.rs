//! Everything about a candidate but its speed: the contract's cases on fresh seeds, and then what
//! the contract does not list, since a kernel that is right for the listed inputs alone is right
//! by accident or by design. In a process of its own, so that nothing it remembers helps it later.

use std::time::Instant;

use super::{
    blame::Stage,
    child::Launches,
    error::EvaluateError,
    judge::Stop,
    plane::{Device, Plane},
    protocol::Observed,
    referee::Question,
    subject::Subject,
    tuning::Tuning,
    wire::WireError,
};
use crate::kernel::{Candidate, Cost, Gate, Rejection, Verdict};

/// What a proof consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct ProofPlan {
    /// After these seconds a case gets no further probes, and no further sizes are tried.
    pub case_seconds: f64,
    /// Calls of the first case at the end, each compared, so that what counts its calls shows.
    pub late_calls: u32,
    /// After these seconds there are no further ones.
    pub late_seconds: f64,
}

/// What a proof found.
#[derive(Clone, Debug)]
pub struct Proof {
    pub verdict: Verdict,
    /// Largest deviation of each case of the contract, in units of the tolerance.
    pub errors: Vec<f64>,
    /// Probes that were left out, and why.
    pub notes: Vec<String>,
    pub cost: Cost,
}

/// Probes of a case that are made before the time is looked at: they come by kinds in turn, so that a
/// kernel that takes its time escapes none of them.
const AT_LEAST: usize = 12;

impl Plane {
    /// Calls `candidate` on all that the contract means, and watches what it does besides. What
    /// `baseline` gets wrong as well is not held against it. Every case is called with inputs of
    /// all `seeds`, never empty; probes change those of the first.
    pub async fn prove(
        &self,
        candidate: &Candidate,
        baseline: Option<&Candidate>,
        seeds: &[u64],
        plan: &ProofPlan,
    ) -> Result<Proof, EvaluateError> {
        let started = Instant::now();
        let mut record = Record::default();
        let verdict = match self.examine(candidate, baseline, seeds, plan, &mut record).await {
            Ok(()) => Verdict::Accepted,
            Err(Stop::Rejected(rejection)) => Verdict::Rejected(rejection),
            Err(Stop::Fault(error)) => return Err(error),
        };
        let gpu_seconds = record.gpu_seconds;
        let cost = Cost { gpu_seconds, wall_seconds: started.elapsed().as_secs_f64() };
        Ok(Proof { verdict, errors: record.errors, notes: record.notes, cost })
    }

    async fn examine(
        &self,
        candidate: &Candidate,
        baseline: Option<&Candidate>,
        seeds: &[u64],
        plan: &ProofPlan,
        record: &mut Record,
    ) -> Result<(), Stop> {
        self.check_policy(candidate)?;
        let _slot = self.slots.acquire().await.map_err(|_| EvaluateError::closed())?;
        let mut examiner = Examiner {
            plane: self,
            candidate,
            baseline,
            seeds,
            plan,
            subject: Subject::start(self, candidate, Tuning::Usual).await?,
            incumbent: None,
            record,
        };
        let result = examiner.examine().await;
        examiner.end().await;
        result
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Record {
    errors: Vec<f64>,
    notes: Vec<String>,
    gpu_seconds: f64,
}

struct Examiner<'p, 'a> {
    plane: &'p Plane,
    candidate: &'a Candidate,
    baseline: Option<&'a Candidate>,
    seeds: &'a [u64],
    plan: &'a ProofPlan,
    subject: Subject<'p>,
    /// The baseline in a process of its own, once it was needed.
    incumbent: Option<Subject<'p>>,
    record: &'a mut Record,
}

/// How an answer failed.
struct Miss {
    stop: Stop,
    /// It was no answer at all but an exception, or kernels that do not compile.
    refused: bool,
    /// What was seen besides, where that is what is held against it.
    observed: Vec<Observed>,
}

impl From<EvaluateError> for Miss {
    fn from(error: EvaluateError) -> Self {
        Self { stop: error.into(), refused: false, observed: Vec::new() }
    }
}

impl<'p> Examiner<'p, '_> {
    async fn end(self) {
        self.subject.end().await;
        if let Some(incumbent) = self.incumbent {
            incumbent.end().await;
        }
    }

    async fn examine(&mut self) -> Result<(), Stop> {
        let cases: Vec<usize> = (0..self.plane.contract.cases.len()).collect();
        self.subject.compile(&cases, self.seeds[0]).await?;
        let turn = self.plane.turn.take().await;
        let result = self.examine_in_turn(&cases).await;
        self.subject.child.kill();
        if let Some(incumbent) = &self.incumbent {
            incumbent.child.kill();
        }
        self.record.gpu_seconds = turn.seconds();
        result
    }

    async fn examine_in_turn(&mut self, cases: &[usize]) -> Result<(), Stop> {
        let plane = self.plane;
        let seeds = self.seeds;
        let seed = seeds[0];
        self.meet_baseline(seed).await?;
        for &case in cases {
            let name = &plane.contract.cases[case].name;
            let mut worst: f64 = 0.0;
            for &seed in seeds {
                let question = Question { case, name, seed, probe: None };
                worst = worst.max(self.ask(question, "", true).await?);
            }
            self.record.errors.push(worst);
            self.check_kernels_matter(case, seed).await?;
            if plane.device() != Device::Cpu {
                self.check_stream(Question { case, name, seed, probe: None }).await?;
            }
        }
        self.try_sizes(seed).await?;
        for &case in cases {
            self.try_probes(case, seed).await?;
        }
        self.call_late(seed).await
    }

    /// One watched call of the baseline: what it does besides answering is no fault of others.
    async fn meet_baseline(&mut self, seed: u64) -> Result<(), Stop> {
        let Some(baseline) = self.baseline else { return Ok(()) };
        let incumbent =
            self.incumbent.insert(Subject::start(self.plane, baseline, Tuning::Usual).await?);
        let name = &self.plane.contract.cases[0].name;
        let question = Question { case: 0, name, seed, probe: None };
        let posed = self.plane.referee.lock().await.pose(question).await?;
        let Ok(inputs) = posed else { return Ok(()) };
        // Whether it answers rightly is not the question here.
        match answer(incumbent, question, &inputs, Launches::Watched).await {
            Ok(_) | Err(Miss { stop: Stop::Rejected(_), .. }) => Ok(()),
            Err(Miss { stop, .. }) => Err(stop),
        }
    }

    /// The inputs of a case changed in one respect each, in the same memory.
    async fn try_probes(&mut self, case: usize, seed: u64) -> Result<(), Stop> {
        let plane = self.plane;
        let name = &plane.contract.cases[case].name;
        let own = Question { case, name, seed, probe: None };
        let found = plane.referee.lock().await.probes(own).await?;
        for note in found.notes {
            self.note(note);
        }
        let started = Instant::now();
        for (at, probe) in found.probes.iter().enumerate() {
            if at >= AT_LEAST && started.elapsed().as_secs_f64() > self.plan.case_seconds {
                let left = found.probes.len() - at;
                self.note(format!("case {name}: no time was left for {left} further probes"));
                break;
            }
            self.ask(Question { probe: Some(&probe.name), ..own }, &probe.about, true).await?;
        }
        // Back to where they were: an answer kept for these inputs would be right by now.
        self.ask(own, "after other inputs in the same memory", true).await?;
        Ok(())
    }

    /// Sizes that the contract does not list.
    async fn try_sizes(&mut self, seed: u64) -> Result<(), Stop> {
        let sizes = self.plane.referee.lock().await.sizes().await?;
        let started = Instant::now();
        for (at, size) in sizes.cases.iter().enumerate() {
            if at >= AT_LEAST / 2 && started.elapsed().as_secs_f64() > self.plan.case_seconds {
                self.note("no time was left for further unlisted sizes".into());
                break;
            }
            let question = Question { case: size.case, name: &size.name, seed, probe: None };
            self.ask(question, "for a size that the contract does not list", size.binding).await?;
        }
        Ok(())
    }

    /// Many calls more, on two sets of inputs in turn.
    async fn call_late(&mut self, seed: u64) -> Result<(), Stop> {
        let plane = self.plane;
        let name = &plane.contract.cases[0].name;
        let started = Instant::now();
        for call in 0..u64::from(self.plan.late_calls) {
            if started.elapsed().as_secs_f64() > self.plan.late_seconds {
                break;
            }
            let seed = seed.wrapping_add(call % 2) & 0xffff_ffff;
            let question = Question { case: 0, name, seed, probe: None };
            self.ask(question, "in a later call", true).await?;
        }
        Ok(())
    }

    /// One question; what the baseline gets wrong as well, and a refusal that is no fault, become
    /// notes. `about` says what is special, and is empty for the contract's own inputs.
    async fn ask(
        &mut self,
        question: Question<'_>,
        about: &str,
        binding: bool,
    ) -> Result<f64, Stop> {
        let plane = self.plane;
        loop {
            let posed = plane.referee.lock().await.pose(question).await?;
            let inputs = match posed {
                Ok(inputs) => inputs,
                Err(reason) if about.is_empty() => {
                    return Err(EvaluateError::Contract { reason, file: None, line: None }.into());
                }
                Err(reason) => {
                    self.note(format!("case {}: not tried {about}: {reason}", question.name));
                    return Ok(0.0);
                }
            };
            // Operators are noticed in every call: what is not listed is where torch would do the work.
            let miss = match answer(&mut self.subject, question, &inputs, Launches::Watched).await {
                Ok(error) => return Ok(error),
                Err(miss) => miss,
            };
            let Stop::Rejected(mut rejection) = miss.stop else { return Err(miss.stop) };
            if !about.is_empty() {
                rejection.reason = format!("{about}: {}", rejection.reason);
            }
            if miss.refused && !binding {
                let name = question.name;
                self.note(format!("the kernel refuses case {name}: {}", rejection.reason));
            } else if self.baseline_fails(question).await? {
                let name = question.name;
                let when = if about.is_empty() { "on its own inputs" } else { about };
                self.note(format!("case {name}, {when}: the baseline is wrong as well"));
            } else if plane.habits.include_all(&miss.observed) {
                // The baseline was asked the same just now, and does the same on these inputs.
                continue;
            } else {
                return Err(rejection.into());
            }
            if rejection.gate == Gate::Build && !miss.refused {
                // It may be dead; whoever is asked next must be alive.
                let fresh = Subject::start(self.plane, self.candidate, Tuning::Usual).await?;
                std::mem::replace(&mut self.subject, fresh).end().await;
            }
            return Ok(0.0);
        }
    }

    /// Whether there is a baseline, and it answers wrongly too.
    async fn baseline_fails(&mut self, question: Question<'_>) -> Result<bool, Stop> {
        let Some(baseline) = self.baseline else { return Ok(false) };
        let incumbent = match &mut self.incumbent {
            Some(incumbent) => incumbent,
            None => {
                self.incumbent.insert(Subject::start(self.plane, baseline, Tuning::Usual).await?)
            }
        };
        let posed = self.plane.referee.lock().await.pose(question).await?;
        let Ok(inputs) = posed else { return Ok(false) };
        match answer(incumbent, question, &inputs, Launches::Watched).await {
            Ok(_) => Ok(false),
            Err(Miss { stop: Stop::Rejected(rejection), refused, .. }) => {
                // A wrong answer is no harm; whoever gave none may be dead.
                if rejection.gate == Gate::Build
                    && !refused
                    && let Some(incumbent) = self.incumbent.take()
                {
                    incumbent.end().await;
                }
                Ok(true)
            }
            Err(miss) => Err(miss.stop),
        }
    }

    async fn check_kernels_matter(&mut self, case: usize, seed: u64) -> Result<(), Stop> {
        let Err(stop) = self.subject.check_kernels_matter(case, seed).await else { return Ok(()) };
        let (Stop::Rejected(_), Some(baseline)) = (&stop, self.baseline) else { return Err(stop) };
        let mut incumbent = Subject::start(self.plane, baseline, Tuning::Usual).await?;
        let same = incumbent.check_kernels_matter(case, seed).await.is_err();
        incumbent.end().await;
        if !same {
            return Err(stop);
        }
        let name = &self.plane.contract.cases[case].name;
        self.note(format!("case {name}: the baseline's answer needs no Triton kernels either"));
        Ok(())
    }

    /// Calls on inputs that the caller's stream is still to write.
    async fn check_stream(&mut self, question: Question<'_>) -> Result<(), Stop> {
        let posed = self.plane.referee.lock().await.pose(question).await?;
        let Ok(inputs) = posed else { return Ok(()) };
        let missed = answer(&mut self.subject, question, &inputs, Launches::Late).await;
        let Err(miss) = missed else { return Ok(()) };
        let Stop::Rejected(rejection) = miss.stop else { return Err(miss.stop) };
        if rejection.gate != Gate::Correctness || miss.refused {
            return Err(rejection.into());
        }
        let reason = format!(
            "does not wait for the caller's stream: on inputs that the stream was still writing \
             when the call was made, {}",
            rejection.reason
        );
        Err(Rejection { gate: Gate::Integrity, reason, ..rejection }.into())
    }

    fn note(&mut self, note: String) {
        if !self.record.notes.contains(&note) {
            self.record.notes.push(note);
        }
    }
}

/// One call on inputs that are in place, compared.
async fn answer(
    subject: &mut Subject<'_>,
    question: Question<'_>,
    inputs: &serde_json::Value,
    launches: Launches,
) -> Result<f64, Miss> {
    let limit = subject.plane.config.limits.call;
    let call = subject.call.clone();
    let ran = match subject.child.run(inputs, &call, launches, limit).await {
        Ok(ran) => ran,
        Err(error) => {
            let refused = matches!(&error, WireError::Refused(remote)
                if matches!(remote.kind.as_str(), "call" | "compile" | "entry"));
            let stop = subject.blame(Stage::Call { case: question.name }, error).await;
            return Err(Miss { stop, refused, observed: Vec::new() });
        }
    };
    let wrong = |rejection: Rejection| Miss {
        stop: rejection.on_case(question.name).into(),
        refused: false,
        observed: Vec::new(),
    };
    let mut referee = subject.plane.referee.lock().await;
    let compared = referee.mark(question, &ran.returned, ran.gradients.as_deref()).await?;
    let gate = compared.gate.unwrap_or(Gate::Correctness);
    if compared.pass || gate == Gate::Correctness {
        // Tampering says more than the wrong values that come of it.
        let judged = subject.judge_observed(&ran.observed);
        judged.map_err(|it| Miss { observed: ran.observed, ..wrong(it) })?;
    }
    if !compared.pass {
        let reason = compared.reason.unwrap_or_else(|| "differs from the reference".into());
        let reason = format!("{reason} (seed {})", question.seed);
        return Err(wrong(Rejection::new(gate, reason)));
    }
    if ran.launched.is_empty() {
        return Err(wrong(Rejection::new(Gate::Integrity, "the entry launched no Triton kernel")));
    }
    Ok(compared.error.unwrap_or(0.0))
}
