//! Who goes on: the scheduler's decisions on one rung.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use super::Place;

/// The results on one rung so far.
#[derive(Clone, Copy, Debug)]
pub struct RungView<'a> {
    pub rung: usize,
    /// Share of the results that goes on.
    pub keep: f64,
    /// Settled results, the rejected ones included.
    pub results: usize,
    /// Accepted and neither promoted nor pruned, the best first.
    pub waiting: &'a BTreeSet<Place>,
    /// Promoted already, the best first.
    pub promoted: &'a [Place],
    /// Log ratio of the best of both, each by the last word on it: one that a gate rejected on a
    /// higher rung does not count, and one that was measured slower there counts as that.
    pub best: Option<f64>,
    /// Nothing else is on its way to this rung.
    pub drained: bool,
}

/// A promotion and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Promotion {
    pub place: Place,
    pub reason: String,
}

/// Decides on one rung below the top. Pure: the same view gives the same answer.
pub trait Scheduler: fmt::Debug + Send + Sync {
    /// Which of the waiting go on now, the best first.
    fn promotions(&self, view: &RungView<'_>) -> Vec<Promotion>;

    /// Why a result can never go on, whatever else comes; asked when it is settled, on the top
    /// rung too.
    fn hopeless(&self, result: Place) -> Option<String>;
}

/// The paper's promotion by rank, made asynchronous as in successive halving without barriers: a
/// candidate goes on as soon as it is in the top `keep` of the results so far, so that no worker
/// waits for a rung to fill.
///
/// While more is to come the quota is rounded down; once the rung is drained, up. Rejected
/// candidates count as results: with a third kept, 20 give 7 give 3, as in the paper's funnel.
///
/// Whoever is far behind the best stays where it is, whatever the quota: where one candidate is
/// three times as fast as the baseline, those that are as fast as it are not worth a closer look. It
/// may still go on, should the best come to nothing. So may the first three, since the best may be
/// wrong, or the others slowed down by what went on beside them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RankPromotion {
    /// Results that a rung must have before the first early promotion, so that the first ones
    /// are not promoted blindly.
    pub min_results: usize,
    /// How much slower than the baseline a candidate may measure, as a fraction, and still
    /// compete: noise on a low rung must not end a candidate that is as fast.
    pub margin: f64,
    /// How much slower than the best on its rung a candidate may measure, as a fraction, and still
    /// go on; `None`: however much.
    // A plan of before there was one has none.
    #[serde(default)]
    pub reach: Option<f64>,
}

impl Default for RankPromotion {
    fn default() -> Self {
        Self { min_results: 3, margin: 0.02, reach: None }
    }
}

/// So many of a rung go on however far behind the best they are.
const REGARDLESS: usize = 3;

impl RankPromotion {
    fn quota(&self, view: &RungView<'_>) -> usize {
        // A third of 21 is 7, also where a third has no exact representation.
        const ROUNDING: f64 = 1e-9;
        let share = view.keep * view.results as f64;
        if view.drained {
            (share - ROUNDING).ceil() as usize
        } else if view.results < self.min_results {
            0
        } else {
            (share + ROUNDING).floor() as usize
        }
    }

    fn is_within_reach(&self, view: &RungView<'_>, place: Place) -> bool {
        let behind = view.best.map_or(0.0, |best| best - place.log_ratio);
        self.reach.is_none_or(|reach| behind <= reach.ln_1p())
    }
}

impl Scheduler for RankPromotion {
    fn promotions(&self, view: &RungView<'_>) -> Vec<Promotion> {
        let quota = self.quota(view);
        view.waiting
            .iter()
            .enumerate()
            .map(|(ahead, place)| (ahead + view.promoted.partition_point(|p| p < place), *place))
            .take_while(|(rank, place)| {
                *rank < quota && (*rank < REGARDLESS || self.is_within_reach(view, *place))
            })
            .map(|(rank, place)| Promotion {
                place,
                reason: format!(
                    "place {} of {} on rung {}, {:.3}x the baseline's speed",
                    rank + 1,
                    view.results,
                    view.rung,
                    place.speedup()
                ),
            })
            .collect()
    }

    fn hopeless(&self, result: Place) -> Option<String> {
        // Written so that a ratio that is not a number is hopeless too.
        let competes = result.speedup() * (1.0 + self.margin) >= 1.0;
        (!competes).then(|| slower_than_the_baseline(result))
    }
}

/// Every accepted candidate goes on to the top: what the ladder is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FullEvaluation;

impl Scheduler for FullEvaluation {
    fn promotions(&self, view: &RungView<'_>) -> Vec<Promotion> {
        let reason = "full evaluation: every accepted candidate goes on";
        view.waiting
            .iter()
            .map(|place| Promotion { place: *place, reason: reason.to_owned() })
            .collect()
    }

    fn hopeless(&self, result: Place) -> Option<String> {
        (!result.log_ratio.is_finite()).then(|| slower_than_the_baseline(result))
    }
}

fn slower_than_the_baseline(result: Place) -> String {
    if result.log_ratio.is_finite() {
        format!("slower than the baseline: {:.3}x its speed", result.speedup())
    } else {
        "no case was measured that the baseline was measured on too".to_owned()
    }
}

/// The scheduler of a run, as a configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SchedulerChoice {
    RankPromotion(RankPromotion),
    FullEvaluation,
}

impl Default for SchedulerChoice {
    fn default() -> Self {
        Self::RankPromotion(RankPromotion::default())
    }
}

impl SchedulerChoice {
    pub fn build(self) -> Box<dyn Scheduler> {
        match self {
            Self::RankPromotion(scheduler) => Box::new(scheduler),
            Self::FullEvaluation => Box::new(FullEvaluation),
        }
    }
}
