//! What jobs are expected to cost, and whether the budget allows them.

use super::{Record, State};
use crate::{
    kernel::{CandidateId, Cost},
    search::{Limit, Spend, budget::MeanCost},
};

/// Cost of a verification in evaluations of the baseline on the top rung, until one was made. Two
/// candidates, and on a GPU PyTorch twice, are measured in rounds that together are shorter than the
/// top rung's timing.
const VERIFICATION_COST: f64 = 3.0;

/// How much earlier than at the last moment a verification starts: time is looked at this often.
const SLACK_SECONDS: f64 = 1.0;

impl State {
    /// Expected cost of an evaluation on `rung`: the mean of those before it; of the first, the
    /// baseline's on the top rung, by share of the cases.
    pub(in crate::search) fn estimate(&self, rung: usize) -> Spend {
        let cost = self
            .rungs
            .get(rung)
            .and_then(|rung| rung.cost.mean())
            .unwrap_or_else(|| scaled(&self.baseline_cost(), self.plan.case_share(rung)));
        Spend { evaluations: 1, ..spend_of(cost) }
    }

    /// Expected cost of a verification.
    pub(in crate::search) fn verification_estimate(&self) -> Spend {
        let mut made = MeanCost::default();
        self.verifications.iter().for_each(|verification| made.add(&verification.cost));
        let cost = made.mean().unwrap_or_else(|| scaled(&self.baseline_cost(), VERIFICATION_COST));
        spend_of(cost)
    }

    /// The limit that forbids another evaluation on `rung`, if `unrecorded` seconds have passed
    /// since the last event.
    pub(in crate::search) fn forbids(&self, rung: usize, unrecorded: f64) -> Option<Limit> {
        let mut spent = self.spend();
        spent.wall_seconds += unrecorded;
        let mut job = self.estimate(rung);
        job.wall_seconds = job.wall_seconds.max(self.backlog_seconds() + job.gpu_seconds);
        self.plan.limits.forbids(&spent, &job, &self.reserve(rung))
    }

    /// Seconds for which the device is spoken for: jobs under way overlap on the host, and take
    /// their turns on the device one after another.
    fn backlog_seconds(&self) -> f64 {
        let waiting = self.under_way.iter().filter(|job| job.arrived.is_none());
        waiting.map(|job| job.estimate.gpu_seconds).sum()
    }

    /// Whether evaluations under way must be given up, `unrecorded` seconds after the last event:
    /// because a verification of somebody just still fits into the wall clock, or because the clock
    /// has run out, so that nothing that comes could be verified.
    pub(in crate::search) fn verification_presses(&self, unrecorded: f64) -> bool {
        let Some(left) = self.remaining().wall_seconds else { return false };
        let left = left - unrecorded;
        let needed = self.verification_estimate().wall_seconds + SLACK_SECONDS;
        (left <= 0.0 && !self.under_way.is_empty()) || (left < needed && self.has_contender())
    }

    /// Whether somebody was measured faster than the baseline and may be the one to be verified.
    fn has_contender(&self) -> bool {
        let open = self.records.iter().filter(|record| record.gate().is_none());
        let verified = |id: &CandidateId| self.verifications.iter().any(|it| it.candidate == *id);
        open.filter(|record| !verified(&record.candidate().id))
            .filter_map(Record::place)
            .any(|(_, place)| place.log_ratio > 0.0)
    }

    /// What an evaluation on `rung` must leave: one evaluation on each rung above and a
    /// verification; rung 0 leaves the plan's share of the budget besides.
    fn reserve(&self, rung: usize) -> Spend {
        let mut need = self.verification_estimate();
        for above in rung + 1..self.rungs.len() {
            let job = self.estimate(above);
            need.wall_seconds += job.wall_seconds;
            need.gpu_seconds += job.gpu_seconds;
            need.evaluations += job.evaluations;
        }
        let share = if rung == 0 { self.plan.reserve } else { 0.0 };
        self.plan.limits.reserve(&need, share, &self.after_baseline)
    }

    /// Whether no result is on its way to `rung`: nothing under way there or below, and nothing
    /// queued that the budget and the stop rules allow.
    pub(in crate::search) fn drained(&self, rung: usize, unrecorded: f64) -> bool {
        self.rungs[..=rung].iter().enumerate().all(|(index, state)| {
            state.under_way == 0
                && (state.queue.is_empty()
                    || !self.may_start(index)
                    || self.forbids(index, unrecorded).is_some())
        })
    }

    fn baseline_cost(&self) -> Cost {
        self.baseline_evaluation.as_ref().map(|evaluation| evaluation.cost).unwrap_or_default()
    }
}

fn spend_of(cost: Cost) -> Spend {
    let Cost { gpu_seconds, wall_seconds } = cost;
    Spend { wall_seconds, gpu_seconds, ..Spend::default() }
}

fn scaled(cost: &Cost, factor: f64) -> Cost {
    Cost { gpu_seconds: cost.gpu_seconds * factor, wall_seconds: cost.wall_seconds * factor }
}
