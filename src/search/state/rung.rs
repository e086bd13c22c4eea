//! What a run knows about one rung.

use std::collections::BTreeSet;

use crate::search::{Place, budget::MeanCost};

/// Numbers of a rung's part of the funnel. What a reset made void stays counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Evaluations begun.
    pub entered: usize,
    /// Settled and rejected.
    pub rejected: usize,
    /// Settled and accepted.
    pub measured: usize,
    /// Gone on; on the top rung: survivors.
    pub promoted: usize,
    /// Seconds for which its evaluations held the GPU.
    pub gpu_seconds: f64,
    /// Seconds its evaluations took from start to end, added up although they overlap.
    pub wall_seconds: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RungState {
    pub(super) tally: Tally,
    /// Candidates to be evaluated, the most promising first: by their place on the rung below; on
    /// rung 0 in the order in which they were added.
    pub(super) queue: BTreeSet<Place>,
    /// Debited and not settled.
    pub(super) under_way: usize,
    /// Settled since the last reset.
    pub(super) results: usize,
    /// Accepted, neither promoted nor pruned.
    pub(super) waiting: BTreeSet<Place>,
    /// Promoted, the best first.
    pub(super) promoted: Vec<Place>,
    pub(super) cost: MeanCost,
}

impl RungState {
    /// Moves `place` from the waiting to the promoted.
    pub(super) fn promote(&mut self, place: Place) {
        self.waiting.remove(&place);
        let at = self.promoted.partition_point(|other| *other < place);
        self.promoted.insert(at, place);
        self.tally.promoted += 1;
    }

    /// Forgets every timing.
    pub(super) fn reset(&mut self) {
        self.results = 0;
        self.waiting.clear();
        self.promoted.clear();
        self.cost = MeanCost::default();
    }
}
