//! The evaluation plane: it measures what [`Nature`] says.

use async_trait::async_trait;
use kernelbrain::{
    kernel::{Candidate, Cost, Evaluation, Ratio, Rejection, Verdict, Verification},
    search::{
        Plan,
        ports::{Evaluator, Job, PlaneError},
    },
};

use super::{Nature, TestClock, dice};

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
