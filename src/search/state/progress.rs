//! Whether going on is worth it: the stop rules, applied to settled results.

use super::State;
use crate::{
    kernel::Evaluation,
    search::{Place, Stopped, stopping},
};

/// What the stop rules look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// Natural logarithm of the best speedup on each rung; 0 is the baseline.
    best: Vec<f64>,
    /// Results since one of them became better.
    idle: u64,
    pub(super) stopped: Option<Stopped>,
}

impl State {
    /// Why the search stopped before its budget did; `None` while it goes on, and where it did not.
    pub fn stopped(&self) -> Option<Stopped> {
        self.progress.stopped
    }

    /// Whether a stop rule leaves evaluations on `rung` to be made.
    pub(in crate::search) fn may_start(&self, rung: usize) -> bool {
        match self.progress.stopped {
            None => true,
            Some(Stopped::NearLimit { .. }) => false,
            Some(Stopped::NoProgress { .. }) => rung > 0,
        }
    }

    pub(super) fn forget_progress(&mut self) {
        self.progress = Progress::default();
    }

    pub(super) fn weigh_baseline(&mut self, baseline: &Evaluation) {
        self.stop_near_limit(baseline, true);
    }

    /// Takes a settled result into account; `place` unless it was rejected.
    pub(super) fn weigh(&mut self, evaluation: &Evaluation, place: Option<Place>) {
        let rungs = self.rungs.len();
        let progress = &mut self.progress;
        progress.best.resize(rungs, 0.0);
        progress.idle += 1;
        if let Some(place) = place.filter(|place| place.log_ratio > progress.best[evaluation.rung])
        {
            progress.best[evaluation.rung] = place.log_ratio;
            progress.idle = 0;
            if evaluation.rung + 1 == rungs {
                self.stop_near_limit(evaluation, false);
            }
        }
        let patience = self.plan.stop.patience.filter(|patience| self.progress.idle >= *patience);
        if let (Some(results), None) = (patience, self.progress.stopped) {
            self.progress.stopped = Some(Stopped::NoProgress { results });
        }
    }

    fn stop_near_limit(&mut self, best: &Evaluation, baseline: bool) {
        let plan = &self.plan;
        let Some(at_most) = plan.stop.headroom else { return };
        let headroom = stopping::headroom(best, &plan.cases, &plan.bounds_us);
        if let Some(headroom) = headroom.filter(|headroom| *headroom <= at_most) {
            self.progress.stopped = Some(Stopped::NearLimit { headroom, at_most, baseline });
        }
    }
}
