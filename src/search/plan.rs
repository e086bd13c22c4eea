//! Everything a run is decided by, apart from what happens in it. Recorded with the run: the same plan and
//! the same events give the same decisions. Only an event changes it, which gives a run that goes on other
//! limits.

use serde::{Deserialize, Serialize};

use super::{Ladder, Limits, SchedulerChoice, ScoreWeights, StopRules};
use crate::kernel::Case;

/// How many candidates are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Generation {
    /// From the baseline, at the start.
    pub seeds: usize,
    /// From a candidate, at each of its promotions.
    pub children: usize,
    /// In the whole run.
    pub max_candidates: usize,
    /// What a language model is asked for; `None` where there is none.
    pub rewrites: Option<Rewrites>,
}

/// How many rewrites are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rewrites {
    /// Of the baseline, at the start.
    pub seeds: u32,
    /// Of a candidate, at each of its promotions.
    pub children: u32,
    /// In the whole run, repairs not counted; a quarter of them at most of what recipes alone made.
    pub most: u32,
    /// How often one that a gate rejected is sent back (K of the paper).
    pub repairs: u32,
    /// Questions that a model is at, at a time.
    pub in_flight: usize,
    /// Questions that wait for somebody outside at a time, so that those asked later are about the
    /// best of what comes of them; `None`: all that the run may ask.
    // A plan of before there was a limit has none.
    #[serde(default)]
    pub awaited: Option<usize>,
    /// Whether questions go to the fastest parents there are when one can be asked, instead of to
    /// the first that were promoted.
    // As above.
    #[serde(default)]
    pub best_first: bool,
}

impl Default for Rewrites {
    fn default() -> Self {
        Self {
            seeds: 6,
            children: 2,
            most: 24,
            repairs: 4,
            in_flight: 4,
            awaited: Some(8),
            best_first: true,
        }
    }
}

impl Default for Generation {
    fn default() -> Self {
        Self { seeds: 96, children: 12, max_candidates: 2000, rewrites: None }
    }
}

/// Rewrites that a run may ask for.
const MOST_REWRITES: u32 = 1000;

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error("there is no case to measure; the contract must define at least one")]
    NoCases,
    #[error("case `{0}` has a weight that is not a positive number")]
    Weight(String),
    #[error("`window` must be at least 1: no evaluation could start")]
    Window,
    #[error("`reserve` is a share of the budget from 0 to 1, not {0}")]
    Reserve(f64),
    #[error("the limit of {0} must be a number that is not negative")]
    Limit(&'static str),
    #[error("`headroom` is a measured time over its bound: a number of 1 or more, not {0}")]
    Headroom(f64),
    #[error(
        "`rewrites` may be {MOST_REWRITES} at most, not {0}: each is a question to a language model"
    )]
    Rewrites(u32),
    #[error("`patience` must be at least 1: the search would stop before its first result")]
    Patience,
}

/// A run's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Of the contract, in its order.
    pub cases: Vec<Case>,
    #[serde(default)]
    pub ladder: Ladder,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub scheduler: SchedulerChoice,
    #[serde(default)]
    pub generation: Generation,
    #[serde(default)]
    pub score: ScoreWeights,
    /// Jobs debited and not yet settled, at most. Part of the plan because what is submitted next
    /// depends on it; [`crate::search::ports::Evaluator::window`] says what pays. An evaluator
    /// with a smaller window gets fewer at a time, and the decisions stay the same.
    pub window: usize,
    /// So many results may wait for one that is slower; then they are settled before it. `None`: they
    /// wait as long as it takes, and decisions do not depend on who ended first.
    #[serde(default)]
    pub overtaken_by: Option<usize>,
    /// Share of each limit that rung 0 must leave to the rungs above and the verification.
    #[serde(default = "default_reserve")]
    pub reserve: f64,
    /// Survivors that are verified before the run gives up.
    #[serde(default = "default_verifications")]
    pub max_verifications: usize,
    /// What ends the search before its budget does.
    #[serde(default)]
    pub stop: StopRules,
    /// Speed-of-light bound of each case, microseconds, where there is one.
    #[serde(default)]
    pub bounds_us: Vec<Option<f64>>,
}

fn words(limit: Option<String>) -> String {
    limit.unwrap_or_else(|| "without limit".to_owned())
}

fn default_reserve() -> f64 {
    0.35
}

fn default_verifications() -> usize {
    5
}

impl Plan {
    /// The default plan for `cases`, without limits.
    pub fn new(cases: Vec<Case>, window: usize) -> Self {
        Self {
            cases,
            ladder: Ladder::default(),
            limits: Limits::default(),
            scheduler: SchedulerChoice::default(),
            generation: Generation::default(),
            score: ScoreWeights::default(),
            window,
            overtaken_by: None,
            reserve: default_reserve(),
            max_verifications: default_verifications(),
            stop: StopRules::default(),
            bounds_us: Vec::new(),
        }
    }

    pub fn validate(&self) -> Result<(), PlanError> {
        if self.cases.is_empty() {
            return Err(PlanError::NoCases);
        }
        if let Some(case) = self.cases.iter().find(|case| !positive(case.weight)) {
            return Err(PlanError::Weight(case.name.clone()));
        }
        if self.window == 0 {
            return Err(PlanError::Window);
        }
        if !(0.0..=1.0).contains(&self.reserve) {
            return Err(PlanError::Reserve(self.reserve));
        }
        if let Some(headroom) =
            self.stop.headroom.filter(|at_most| at_most.is_nan() || *at_most < 1.0)
        {
            return Err(PlanError::Headroom(headroom));
        }
        if let Some(rewrites) = self.generation.rewrites.filter(|it| it.most > MOST_REWRITES) {
            return Err(PlanError::Rewrites(rewrites.most));
        }
        if self.stop.patience == Some(0) {
            return Err(PlanError::Patience);
        }
        for (limit, name) in
            [(self.limits.wall_seconds, "wall clock"), (self.limits.gpu_seconds, "GPU seconds")]
        {
            if limit.is_some_and(|limit| !(limit.is_finite() && limit >= 0.0)) {
                return Err(PlanError::Limit(name));
            }
        }
        Ok(())
    }

    /// Gives the run other limits; `rewrites` only where it asks a language model.
    ///
    /// # Errors
    /// They cannot be; the plan has changed all the same and must not be used.
    pub fn change_limits(
        &mut self,
        limits: Limits,
        max_candidates: usize,
        rewrites: Option<u32>,
    ) -> Result<(), PlanError> {
        self.limits = limits;
        self.generation.max_candidates = max_candidates;
        if let (Some(own), Some(most)) = (&mut self.generation.rewrites, rewrites) {
            own.most = most;
        }
        self.validate()
    }

    /// What the run may spend and make, for people: each limit by its name.
    pub(super) fn allowance(&self) -> [(&'static str, String); 7] {
        let seconds = |limit: Option<f64>| words(limit.map(|it| format!("{it} s")));
        let count = |limit: Option<u64>| words(limit.map(|it| it.to_string()));
        let Limits { wall_seconds, gpu_seconds, evaluations, tokens, usd } = self.limits;
        let rewrites = self.generation.rewrites.map(|rewrites| u64::from(rewrites.most));
        [
            ("wall clock", seconds(wall_seconds)),
            ("GPU time", seconds(gpu_seconds)),
            ("evaluations", count(evaluations)),
            ("tokens", count(tokens)),
            ("US dollars", words(usd.map(|it| it.to_string()))),
            ("candidates", self.generation.max_candidates.to_string()),
            ("rewrites", words(rewrites.map(|it| it.to_string()))),
        ]
    }

    /// Share of the cases that `rung` measures, greater than 0 and at most 1.
    pub(super) fn case_share(&self, rung: usize) -> f64 {
        self.ladder.cases_for(rung, &self.cases).len() as f64 / self.cases.len() as f64
    }

    /// Budget of one evaluation on `rung` in timed launches: `b_r` of the score.
    pub(super) fn rung_budget(&self, rung: usize) -> f64 {
        let cases = self.ladder.cases_for(rung, &self.cases).len();
        let repeat = self.ladder.rungs().get(rung).map_or(0, |rung| rung.timing.repeat);
        cases as f64 * f64::from(repeat)
    }
}

fn positive(weight: f64) -> bool {
    weight.is_finite() && weight > 0.0
}
