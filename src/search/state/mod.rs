//! The state of a run: the fold of its events, and what can be read from it.

mod apply;
mod forecast;
mod progress;
mod record;
mod reset;
mod rewriting;
mod rung;

use std::collections::{HashMap, VecDeque};

pub use apply::Misfit;
use progress::Progress;
pub use record::{Record, Standing};
use rung::RungState;
pub use rung::Tally;

use super::{
    Limit, Outcome, Place, Plan, PlanError, Remaining, RungView, Spend, budget::Account, latency_us,
};
use crate::kernel::{Candidate, CandidateId, Evaluation, RequestKind, Verification};

/// A step of the best speedup over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Seconds for which the run had been up.
    pub wall_seconds: f64,
    /// Measured on the top rung, over the baseline.
    pub speedup: f64,
    pub candidate: CandidateId,
}

/// A job that was debited and whose result is not settled.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    /// Position of its candidate.
    pub(super) number: usize,
    pub(super) rung: usize,
    pub(super) estimate: Spend,
    /// Its result, if it arrived before those of jobs submitted earlier.
    pub(super) arrived: Option<(Evaluation, Spend)>,
}

/// A request for candidates that is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenRequest {
    pub(super) parent: CandidateId,
    /// The rung whose promotion or rejection led to it; `None` for the seeds.
    pub(super) rung: Option<usize>,
    pub(super) kind: RequestKind,
    pub(super) at_most: usize,
}

/// An open request, and what was taken from the budget for it.
#[derive(Clone, Debug)]
struct Pending {
    request: OpenRequest,
    debit: Option<Spend>,
}

/// The state of a run. Changed by [`State::apply`] only.
#[derive(Clone, Debug)]
pub struct State {
    plan: Plan,
    baseline: Candidate,
    baseline_evaluation: Option<Evaluation>,
    /// Debits without a result of their own kind of job: the baseline's and a verification's.
    baseline_debit: Option<Spend>,
    verification_debit: Option<Spend>,
    /// Spend when the baseline had been measured.
    after_baseline: Spend,
    /// Something was debited: a session that goes on from here resumes the run.
    begun: bool,
    seeded: bool,
    /// In the order in which they were added.
    records: Vec<Record>,
    numbers: HashMap<CandidateId, usize>,
    rungs: Vec<RungState>,
    /// In the order of their debits.
    under_way: VecDeque<UnderWay>,
    requests: Vec<Pending>,
    /// Rewrites asked for so far, repairs not counted.
    rewrites: u32,
    /// How many of them of what recipes alone had made.
    rewrites_of_recipes: u32,
    /// Those that were answered, whatever with, and times that one was sent back.
    rewritten: usize,
    repairs: usize,
    /// Why answers gave no candidate, each reason once.
    unused_rewrites: Vec<String>,
    account: Account,
    verifications: Vec<Verification>,
    trajectory: Vec<Trajectory>,
    discarded: usize,
    /// A candidate that had been promoted was pruned because the budget did not reach it.
    cut_short: bool,
    resets: Vec<String>,
    warnings: Vec<String>,
    outcome: Option<Outcome>,
    progress: Progress,
    events: usize,
}

impl State {
    /// A run in which nothing has happened.
    pub fn new(plan: Plan, baseline: Candidate) -> Result<Self, PlanError> {
        plan.validate()?;
        let rungs = vec![RungState::default(); plan.ladder.rungs().len()];
        Ok(Self {
            plan,
            baseline,
            baseline_evaluation: None,
            baseline_debit: None,
            verification_debit: None,
            after_baseline: Spend::default(),
            begun: false,
            seeded: false,
            records: Vec::new(),
            numbers: HashMap::new(),
            rungs,
            under_way: VecDeque::new(),
            requests: Vec::new(),
            rewrites: 0,
            rewrites_of_recipes: 0,
            rewritten: 0,
            repairs: 0,
            unused_rewrites: Vec::new(),
            account: Account::default(),
            verifications: Vec::new(),
            trajectory: Vec::new(),
            discarded: 0,
            cut_short: false,
            resets: Vec::new(),
            warnings: Vec::new(),
            outcome: None,
            progress: Progress::default(),
            events: 0,
        })
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn baseline(&self) -> &Candidate {
        &self.baseline
    }

    /// The baseline on every case; `None` until measured, and after a reset until measured anew.
    pub fn baseline_evaluation(&self) -> Option<&Evaluation> {
        self.baseline_evaluation.as_ref()
    }

    /// Every candidate but the baseline, in the order in which they were added.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    pub fn record(&self, candidate: &CandidateId) -> Option<&Record> {
        self.numbers.get(candidate).map(|number| &self.records[*number])
    }

    /// The funnel, one tally a rung.
    pub fn tallies(&self) -> impl ExactSizeIterator<Item = Tally> + '_ {
        self.rungs.iter().map(|rung| rung.tally)
    }

    /// Candidates that wait to be evaluated on `rung`.
    pub fn queued(&self, rung: usize) -> usize {
        self.rungs.get(rung).map_or(0, |rung| rung.queue.len())
    }

    /// Jobs debited and not settled.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// The best candidate past the top rung that no verification refuted; `None` while that is
    /// the baseline.
    pub fn incumbent(&self) -> Option<&Record> {
        let top = self.rungs.last()?;
        top.promoted
            .iter()
            .map(|place| &self.records[place.number])
            .find(|record| !matches!(record.standing, Standing::Refuted { .. }))
    }

    /// The best so far for a live view: the incumbent, else the best result on the highest rung
    /// that has one.
    pub fn leader(&self) -> Option<&Record> {
        self.incumbent().or_else(|| {
            let best = self.rungs.iter().rev().find_map(|rung| {
                rung.waiting.first().into_iter().chain(rung.promoted.first()).min()
            })?;
            Some(&self.records[best.number])
        })
    }

    /// Latency of the last accepted evaluation, microseconds, over its cases.
    pub fn latency_us(&self, record: &Record) -> Option<f64> {
        latency_us(record.measured()?, &self.plan.cases)
    }

    /// Score of the last accepted evaluation (eq. 2).
    pub fn score(&self, record: &Record) -> Option<f64> {
        let rung = record.measured()?.rung;
        let latency = self.latency_us(record)?;
        Some(self.plan.score.score(latency, rung, self.plan.rung_budget(rung)))
    }

    /// Steps of the best speedup past the top rung, beginning with the baseline's 1.
    pub fn trajectory(&self) -> &[Trajectory] {
        &self.trajectory
    }

    /// What is spent, with the debits of what is under way.
    pub fn spend(&self) -> Spend {
        self.account.spent()
    }

    pub fn remaining(&self) -> Remaining {
        self.plan.limits.remaining(&self.spend())
    }

    pub fn exhausted(&self) -> Option<Limit> {
        self.plan.limits.exhausted(&self.spend())
    }

    /// In the order in which they were made.
    pub fn verifications(&self) -> &[Verification] {
        &self.verifications
    }

    /// Moves that gave no new candidate.
    pub fn discarded(&self) -> usize {
        self.discarded
    }

    /// Rewrites that a language model was to be asked for, repairs not counted.
    pub fn rewrites_asked(&self) -> u32 {
        self.rewrites
    }

    /// Why answers of the language model gave no candidate, each reason once.
    pub fn unused_rewrites(&self) -> &[String] {
        &self.unused_rewrites
    }

    /// What is spent without the debits of questions that are not answered.
    pub fn settled_spend(&self) -> Spend {
        let mut spent = self.spend();
        for debit in self.requests.iter().filter_map(|pending| pending.debit) {
            spent.tokens = spent.tokens.saturating_sub(debit.tokens);
            spent.usd = (spent.usd - debit.usd).max(0.0);
        }
        spent
    }

    /// Rewrites that were answered, whatever they came to.
    pub fn rewrites_answered(&self) -> usize {
        self.rewritten
    }

    /// Times that a rewrite which a gate had rejected was sent back.
    pub fn repairs_asked(&self) -> usize {
        self.repairs
    }

    /// Why timings were measured anew, once for each time.
    pub fn resets(&self) -> &[String] {
        &self.resets
    }

    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How the run ended; `None` while it goes on.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Events applied so far.
    pub fn events(&self) -> usize {
        self.events
    }

    /// Whether the budget ended before everything worth evaluating was evaluated.
    pub fn cut_short(&self) -> bool {
        self.cut_short || self.rungs.iter().any(|rung| !rung.queue.is_empty())
    }

    pub(super) fn knows(&self, candidate: &CandidateId) -> bool {
        *candidate == self.baseline.id || self.numbers.contains_key(candidate)
    }

    pub(super) fn numbered(&self, number: usize) -> &Record {
        &self.records[number]
    }

    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    pub(super) fn baseline_debited(&self) -> bool {
        self.baseline_debit.is_some()
    }

    pub(super) fn verification_debited(&self) -> bool {
        self.verification_debit.is_some()
    }

    pub(super) fn jobs_under_way(&self) -> impl Iterator<Item = &UnderWay> {
        self.under_way.iter()
    }

    /// The job whose result is settled next, if that has arrived: the oldest; the oldest that has
    /// arrived, where so many have that the plan lets them overtake.
    pub(super) fn next_to_settle(&self) -> Option<&UnderWay> {
        self.place_to_settle().and_then(|place| self.under_way.get(place))
    }

    fn place_to_settle(&self) -> Option<usize> {
        let first = self.under_way.iter().position(|job| job.arrived.is_some())?;
        let arrived = || self.under_way.iter().filter(|job| job.arrived.is_some()).count();
        let overtakes = || self.plan.overtaken_by.is_some_and(|least| arrived() >= least);
        (first == 0 || overtakes()).then_some(first)
    }

    pub(super) fn requests(&self) -> impl ExactSizeIterator<Item = &OpenRequest> {
        self.requests.iter().map(|pending| &pending.request)
    }

    /// Whether the budget was debited for an open request.
    pub(super) fn asked_for(&self, request: &OpenRequest) -> bool {
        self.requests.iter().any(|it| it.request == *request && it.debit.is_some())
    }

    pub(super) fn queue(&self, rung: usize) -> impl Iterator<Item = &Place> {
        self.rungs[rung].queue.iter()
    }

    /// The best place past the top rung, and the worse ones.
    pub(super) fn survivors(&self) -> &[Place] {
        self.rungs.last().map_or(&[], |top| &top.promoted)
    }

    pub(super) fn view(&self, rung: usize, drained: bool) -> RungView<'_> {
        let state = &self.rungs[rung];
        RungView {
            rung,
            keep: self.plan.ladder.rungs()[rung].keep,
            results: state.results,
            waiting: &state.waiting,
            promoted: &state.promoted,
            best: self.best_on(state),
            drained,
        }
    }

    /// Log ratio of the best on a rung, each by its last measurement. Asked for with every decision,
    /// so that it ends at the first that can be no better.
    fn best_on(&self, rung: &RungState) -> Option<f64> {
        let mut best = rung.waiting.first().map(|place| place.log_ratio);
        for place in &rung.promoted {
            if best.is_some_and(|best| place.log_ratio <= best) {
                break;
            }
            let record = &self.records[place.number];
            let last = record.place.filter(|_| record.rejection().is_none());
            let ratio = last.map(|(_, last)| last.log_ratio.min(place.log_ratio));
            best = best.into_iter().chain(ratio).max_by(f64::total_cmp);
        }
        best
    }
}
