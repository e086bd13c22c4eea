//! A world for the search that is made of numbers: what a candidate measures is a function of
//! its source, so that a whole run takes milliseconds and can be repeated exactly.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use kernelbrain::{
    kernel::{
        BottleneckClass, Candidate, Case, CaseMeasurement, Cost, Diagnosis, Evaluation, Gate, Move,
        Ratio, Rejection, Verdict, Verification,
    },
    search::{
        Event, Plan, Spend,
        ports::{
            Answer, Clock, Evaluator, Generator, Job, Journal, JournalError, PlaneError, Proposal,
            Request, Ticket,
        },
    },
};

/// A clock that stands still until something takes time.
#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<Mutex<f64>>);

impl TestClock {
    pub(crate) fn advance(&self, seconds: f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += seconds;
    }
}

impl Clock for TestClock {
    fn seconds(&self) -> f64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deterministic dice: a number in 0..1 for a text.
pub(crate) fn dice(text: &str) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // Finalizer of MurmurHash3: neighbouring texts get unrelated numbers.
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    ((hash ^ (hash >> 33)) >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn cases(count: usize) -> Vec<Case> {
    (0..count)
        .map(|index| Case {
            name: format!("case {index}"),
            params: serde_json::Map::new(),
            weight: 1.0,
        })
        .collect()
}

/// What candidates are like.
#[derive(Clone, Debug)]
pub(crate) struct Nature {
    pub(crate) seed: u64,
    /// Natural logarithm of the greatest and the least speedup of a candidate.
    pub(crate) gain: (f64, f64),
    /// Relative noise of a timing, a rung.
    pub(crate) noise: Vec<f64>,
    /// Share of candidates rejected at each rung.
    pub(crate) rejected: Vec<f64>,
    /// Whether the baseline fails its contract.
    pub(crate) broken_baseline: bool,
    /// Sources whose verification fails.
    pub(crate) refuted: Vec<String>,
    /// The gate that refutes them.
    pub(crate) refuted_by: Gate,
    /// Every verification fails.
    pub(crate) all_refuted: bool,
    /// Sources that end so are rejected by this gate.
    pub(crate) flawed: Option<(&'static str, Gate)>,
    /// The rung on which evaluations are profiled; their only finding is the source.
    pub(crate) profiled_on: Option<usize>,
    /// Costs of an evaluation on each rung, and of a verification last.
    pub(crate) seconds: Vec<f64>,
}

impl Default for Nature {
    fn default() -> Self {
        Self {
            seed: 1,
            gain: (-0.5, 0.9),
            noise: vec![0.05, 0.02, 0.005],
            rejected: vec![0.25, 0.1, 0.0],
            broken_baseline: false,
            refuted: Vec::new(),
            refuted_by: Gate::Performance,
            all_refuted: false,
            flawed: None,
            profiled_on: None,
            seconds: vec![0.1, 0.3, 1.0, 4.0],
        }
    }
}

impl Nature {
    fn dice(&self, of: &str, source: &str) -> f64 {
        dice(&format!("{} {of} {source}", self.seed))
    }

    /// How much faster `source` really is: natural logarithm of the speedup.
    pub(crate) fn true_gain(&self, source: &str) -> f64 {
        if source == BASELINE {
            return 0.0;
        }
        let (least, most) = self.gain;
        least + (most - least) * self.dice("gain", source)
    }

    pub(crate) fn rejection(&self, source: &str, rung: usize) -> Option<Rejection> {
        if source == BASELINE {
            return self
                .broken_baseline
                .then(|| Rejection::new(Gate::Correctness, "differs from the reference by 3.2"));
        }
        if let Some((end, gate)) = self.flawed.filter(|(end, _)| source.ends_with(end)) {
            return Some(Rejection::new(gate, format!("it ends with {end}")));
        }
        let unlucky = self.dice(&format!("rejected on {rung}"), source) < self.rejected[rung];
        let gate = match rung {
            0 if self.dice("gate", source) < 0.3 => Gate::Build,
            _ => Gate::Correctness,
        };
        unlucky.then(|| Rejection::new(gate, "as the dice fell"))
    }

    pub(crate) fn evaluate(&self, job: &Job, plan: &Plan) -> Evaluation {
        let source = &*job.candidate.source;
        let cases = plan.ladder.cases_for(job.rung, &plan.cases);
        let cases = cases.into_iter().map(|index| {
            let name = &plan.cases[index].name;
            let roll = self.dice(&format!("{name} on {}", job.rung), source) * 2.0 - 1.0;
            let noise = self.noise[job.rung] * roll;
            let latency_us = 1000.0 * (index + 1) as f64 * (noise - self.true_gain(source)).exp();
            CaseMeasurement {
                case: name.clone(),
                latency_us,
                baseline_us: None,
                host_us: None,
                backward_us: None,
                error: None,
            }
        });
        let rejection = self.rejection(source, job.rung);
        let seconds = self.seconds[job.rung];
        Evaluation {
            candidate: job.candidate.id.clone(),
            rung: job.rung,
            cases: if rejection.is_none() { cases.collect() } else { Vec::new() },
            verdict: rejection.map_or(Verdict::Accepted, Verdict::Rejected),
            build: Vec::new(),
            disturbed: 0,
            diagnosis: (self.profiled_on == Some(job.rung)).then(|| Diagnosis {
                class: BottleneckClass::Latency,
                findings: vec![source.to_owned()],
                suggestions: Vec::new(),
                details: Vec::new(),
                amplification: None,
            }),
            profiling: None,
            cost: Cost { gpu_seconds: seconds / 2.0, wall_seconds: seconds },
            same_program_as: None,
            observed: None,
            ended_at: None,
        }
    }
}

pub(crate) const BASELINE: &str = "baseline";

/// The evaluation plane.
pub(crate) struct Lab {
    pub(crate) nature: Nature,
    plan: Plan,
    clock: TestClock,
    pub(crate) window: usize,
    running: Vec<Job>,
    /// Which of the running jobs ends next: rolled anew for every seed; `None`: the oldest.
    pub(crate) shuffle: Option<u64>,
    /// Ends when nothing else is left to end.
    pub(crate) straggler: Option<String>,
    finished: u64,
    /// The plane breaks down after this many evaluations.
    pub(crate) breaks_after: Option<u64>,
    /// Evaluations last for ever.
    pub(crate) hangs: bool,
    /// The device is the bottleneck: jobs under way at the same time share its time.
    pub(crate) serial: bool,
    /// Pairs of source and rung, in the order in which they were started.
    pub(crate) started: Vec<(String, usize)>,
    pub(crate) most_at_once: usize,
    pub(crate) verified: Vec<String>,
    /// Jobs that were given up.
    pub(crate) abandoned: usize,
    /// Told at the first opportunity.
    pub(crate) warnings: Vec<String>,
}

impl Lab {
    pub(crate) fn new(plan: Plan, clock: TestClock) -> Self {
        Self {
            nature: Nature::default(),
            window: plan.window,
            plan,
            clock,
            running: Vec::new(),
            shuffle: None,
            straggler: None,
            finished: 0,
            breaks_after: None,
            hangs: false,
            serial: false,
            started: Vec::new(),
            most_at_once: 0,
            verified: Vec::new(),
            abandoned: 0,
            warnings: Vec::new(),
        }
    }

    /// Measures the cases of this plan from now on.
    pub(crate) fn follow(&mut self, plan: &Plan) {
        self.plan = plan.clone();
    }
}

#[async_trait]
impl Evaluator for Lab {
    fn submit(&mut self, job: Job) {
        self.started.push((job.candidate.source.to_string(), job.rung));
        self.running.push(job);
        self.most_at_once = self.most_at_once.max(self.running.len());
    }

    async fn next(&mut self) -> Result<Evaluation, PlaneError> {
        assert!(!self.running.is_empty(), "the search awaits an evaluation and none is under way");
        if self.breaks_after == Some(self.finished) {
            return Err(PlaneError("the referee does not answer".into()));
        }
        if self.hangs {
            self.clock.advance(1000.0);
            std::future::pending::<()>().await;
        }
        let index = match self.shuffle {
            Some(seed) => {
                let roll = dice(&format!("{seed} ends {}", self.finished));
                (roll * self.running.len() as f64) as usize
            }
            None => {
                let straggles =
                    |job: &Job| self.straggler.as_deref() == Some(&*job.candidate.source);
                self.running.iter().position(|job| !straggles(job)).unwrap_or(0)
            }
        };
        self.finished += 1;
        let job = self.running.remove(index);
        let at_once = if self.serial { 1.0 } else { self.window as f64 };
        self.clock.advance(self.nature.seconds[job.rung] / at_once);
        Ok(self.nature.evaluate(&job, &self.plan))
    }

    async fn abandon(&mut self) {
        self.abandoned += self.running.len();
        self.running.clear();
    }

    fn window(&self) -> usize {
        self.window
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    async fn verify(&mut self, candidate: &Candidate) -> Result<Verification, PlaneError> {
        self.verified.push(candidate.source.to_string());
        let seconds = self.nature.seconds.last().copied().unwrap_or_default();
        self.clock.advance(seconds);
        let refuted = self.nature.all_refuted
            || self.nature.refuted.iter().any(|source| **source == *candidate.source);
        let speedup = self.nature.true_gain(&candidate.source).exp();
        let ratio = Ratio { median: speedup, low: speedup, high: speedup, rounds: 20 };
        Ok(Verification {
            candidate: candidate.id.clone(),
            verdict: if refuted {
                Verdict::Rejected(Rejection::new(
                    self.nature.refuted_by,
                    "1.01x is within the noise",
                ))
            } else {
                Verdict::Accepted
            },
            comparisons: Vec::new(),
            vs_baseline: Some(ratio),
            vs_eager: None,
            vs_compile: None,
            cost: Cost { gpu_seconds: seconds / 2.0, wall_seconds: seconds },
            notes: Vec::new(),
            profiling: None,
            review: None,
        })
    }
}

/// What a question to the language model is expected to cost, and what it costs.
pub(crate) const ESTIMATE: Spend =
    Spend { wall_seconds: 0.0, gpu_seconds: 0.0, evaluations: 0, tokens: 1000, usd: 0.01 };
pub(crate) const PAID: Spend = Spend { tokens: 700, usd: 0.007, ..ESTIMATE };

/// Proposals that are there after so many polls, and what they cost.
#[derive(Clone, Debug)]
struct Waiting {
    proposals: Vec<Proposal>,
    polls: usize,
    spent: Spend,
}

/// The generation plane.
#[derive(Clone, Debug)]
pub(crate) struct Moves {
    pub(crate) seeds: usize,
    pub(crate) children: usize,
    /// Polls before an answer is there.
    pub(crate) slow: usize,
    /// Answers come from outside and are not there.
    pub(crate) awaited: bool,
    /// For each request the source that it is about, and the finding that came with it.
    pub(crate) asked: Vec<(String, Option<String>)>,
    /// Polls before an answer of the language model's is there.
    pub(crate) model_slow: usize,
    /// Questions to the language model are answered outside, and are not yet.
    pub(crate) model_awaited: bool,
    /// What the language model was asked, and how many questions it was at, at most.
    pub(crate) questions: Vec<String>,
    /// For each question for a rewrite the source that it is about, and the finding that came with it.
    pub(crate) told: Vec<(String, Option<String>)>,
    pub(crate) most_at_once: usize,
    tickets: HashMap<Ticket, Waiting>,
    next_ticket: u64,
}

impl Moves {
    pub(crate) fn new(seeds: usize, children: usize) -> Self {
        Self {
            seeds,
            children,
            slow: 0,
            awaited: false,
            asked: Vec::new(),
            model_slow: 0,
            model_awaited: false,
            questions: Vec::new(),
            told: Vec::new(),
            most_at_once: 0,
            tickets: HashMap::new(),
            next_ticket: 0,
        }
    }
}

impl Moves {
    fn wait(&mut self, waiting: Waiting) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.tickets.insert(ticket, waiting);
        ticket
    }

    /// A language model's answer: one candidate that says how it came about.
    fn ask_model(&mut self, question: String, proposal: Proposal) -> Ticket {
        self.questions.push(question);
        let waiting = Waiting { proposals: vec![proposal], polls: self.model_slow, spent: PAID };
        let ticket = self.wait(waiting);
        let at_once = self.tickets.values().filter(|it| it.spent.tokens > 0).count();
        self.most_at_once = self.most_at_once.max(at_once);
        ticket
    }
}

impl Generator for Moves {
    fn estimate(&self, request: &Request) -> Spend {
        match request {
            Request::Rewrite { .. } | Request::Repair { .. } => ESTIMATE,
            _ => Spend::default(),
        }
    }

    fn submit(&mut self, request: Request) -> Ticket {
        let rewrite = |repairs| Move::Rewrite { task: "retile".into(), repairs };
        let (parent, diagnosis, prefix, count) = match request {
            Request::Seeds { baseline, diagnosis, at_most } => {
                (baseline, diagnosis, "seed".to_owned(), self.seeds.min(at_most))
            }
            Request::Children { parent, evaluation, at_most } => {
                let prefix = parent.source.to_string();
                (parent, evaluation.diagnosis, prefix, self.children.min(at_most))
            }
            Request::Rewrite { parent, evaluation, number, history } => {
                let finding = evaluation.diagnosis.map(|diagnosis| diagnosis.findings[0].clone());
                self.told.push((parent.source.to_string(), finding));
                let question = format!("{} {number}, {} tried", parent.source, history.len());
                let source = Ok(format!("{} rewritten {number}", parent.source));
                let proposal = Proposal { parent: parent.id, origin: rewrite(0), source };
                return self.ask_model(question, proposal);
            }
            Request::Repair { rejected, rejection, attempt } => {
                let question = format!("{}: {rejection}", rejected.source);
                let parent = rejected.parent.clone().expect("no baseline is repaired");
                let source = Ok(format!("{attempt} {}", rejected.source));
                let proposal = Proposal { parent, origin: rewrite(attempt), source };
                return self.ask_model(question, proposal);
            }
        };
        let finding = diagnosis.as_ref().map(|diagnosis| diagnosis.findings[0].clone());
        self.asked.push((parent.source.to_string(), finding));
        let proposals = (0..count)
            .map(|index| Proposal {
                parent: parent.id.clone(),
                origin: Move::Recipe { text: format!("turn {index}") },
                source: Ok(format!("{prefix} {index}")),
            })
            .collect();
        self.wait(Waiting { proposals, polls: self.slow, spent: Spend::default() })
    }

    fn poll(&mut self, ticket: Ticket) -> Answer {
        if self.awaited {
            return Answer::Awaited;
        }
        let Some(waiting) = self.tickets.get_mut(&ticket) else { return Answer::Awaited };
        if self.model_awaited && waiting.spent.tokens > 0 {
            return Answer::Awaited;
        }
        if waiting.polls > 0 {
            waiting.polls -= 1;
            return Answer::Pending;
        }
        match self.tickets.remove(&ticket) {
            Some(Waiting { proposals, spent, .. }) => Answer::Ready { proposals, spent },
            None => Answer::Awaited,
        }
    }
}

/// A journal in memory that can be cut off, as by a kill.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) events: Vec<Event>,
    /// Appends that are kept before it fails; the one that fails keeps nothing.
    pub(crate) dies_after: Option<usize>,
}

#[async_trait]
impl Journal for Memory {
    async fn append(&mut self, events: &[Event]) -> Result<(), JournalError> {
        match &mut self.dies_after {
            Some(0) => return Err(JournalError("killed".into())),
            Some(left) => *left -= 1,
            None => {}
        }
        self.events.extend_from_slice(events);
        Ok(())
    }
}
