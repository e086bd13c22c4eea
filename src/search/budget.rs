//! What a run may spend, and what it must not spend too early.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Spend;
use crate::kernel::Cost;
pub use crate::kernel::Limits;

/// One of the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    WallClock,
    GpuSeconds,
    Evaluations,
    Tokens,
    Money,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WallClock => "wall clock",
            Self::GpuSeconds => "GPU seconds",
            Self::Evaluations => "number of evaluations",
            Self::Tokens => "tokens",
            Self::Money => "money",
        })
    }
}

/// What is left of each limit; `None` where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Remaining {
    pub wall_seconds: Option<f64>,
    pub gpu_seconds: Option<f64>,
    pub evaluations: Option<u64>,
    pub tokens: Option<u64>,
    pub usd: Option<f64>,
}

impl Limits {
    pub fn remaining(&self, spent: &Spend) -> Remaining {
        Remaining {
            wall_seconds: self.wall_seconds.map(|limit| (limit - spent.wall_seconds).max(0.0)),
            gpu_seconds: self.gpu_seconds.map(|limit| (limit - spent.gpu_seconds).max(0.0)),
            evaluations: self.evaluations.map(|limit| limit.saturating_sub(spent.evaluations)),
            tokens: self.tokens.map(|limit| limit.saturating_sub(spent.tokens)),
            usd: self.usd.map(|limit| (limit - spent.usd).max(0.0)),
        }
    }

    /// The limit that forbids a question to a language model that is expected to cost `question`.
    /// Without tokens or money a run goes on with what it has.
    pub fn forbids_question(&self, spent: &Spend, question: &Spend) -> Option<Limit> {
        if self.tokens.is_some_and(|limit| spent.tokens + question.tokens > limit) {
            Some(Limit::Tokens)
        } else if self.usd.is_some_and(|limit| spent.usd + question.usd > limit) {
            Some(Limit::Money)
        } else {
            None
        }
    }

    /// The first limit of which nothing is left, without which nothing can be evaluated.
    pub fn exhausted(&self, spent: &Spend) -> Option<Limit> {
        let left = self.remaining(spent);
        if left.wall_seconds.is_some_and(|left| left <= 0.0) {
            Some(Limit::WallClock)
        } else if left.gpu_seconds.is_some_and(|left| left <= 0.0) {
            Some(Limit::GpuSeconds)
        } else if left.evaluations == Some(0) {
            Some(Limit::Evaluations)
        } else {
            None
        }
    }

    /// The limit that forbids a job expected to cost `job`, if `reserve` must be left after it.
    pub fn forbids(&self, spent: &Spend, job: &Spend, reserve: &Spend) -> Option<Limit> {
        let exceeds = |limit: Option<f64>, spent: f64, job: f64, reserve: f64| {
            limit.is_some_and(|limit| spent >= limit || spent + job + reserve > limit)
        };
        if exceeds(self.wall_seconds, spent.wall_seconds, job.wall_seconds, reserve.wall_seconds) {
            Some(Limit::WallClock)
        } else if exceeds(self.gpu_seconds, spent.gpu_seconds, job.gpu_seconds, reserve.gpu_seconds)
        {
            Some(Limit::GpuSeconds)
        } else if self
            .evaluations
            .is_some_and(|limit| spent.evaluations + job.evaluations + reserve.evaluations > limit)
        {
            Some(Limit::Evaluations)
        } else {
            None
        }
    }

    /// What a rung must leave for those above it and for the verification. `need` is what one job
    /// on each rung above and one verification are expected to cost; rung 0 leaves at least
    /// `share` of each limit besides. Never more than [`RESERVE_AT_MOST`] of what was left after
    /// the baseline (`after_baseline` is the spend then), or a small budget would measure nothing.
    pub fn reserve(&self, need: &Spend, share: f64, after_baseline: &Spend) -> Spend {
        let hold = |limit: Option<f64>, need: f64, spent: f64| {
            limit.map_or(0.0, |limit| {
                need.max(share * limit).min(RESERVE_AT_MOST * (limit - spent).max(0.0))
            })
        };
        Spend {
            wall_seconds: hold(self.wall_seconds, need.wall_seconds, after_baseline.wall_seconds),
            gpu_seconds: hold(self.gpu_seconds, need.gpu_seconds, after_baseline.gpu_seconds),
            evaluations: hold(
                self.evaluations.map(|limit| limit as f64),
                need.evaluations as f64,
                after_baseline.evaluations as f64,
            ) as u64,
            ..Spend::default()
        }
    }
}

/// Share of the budget left after the baseline that a reserve may hold at most.
pub const RESERVE_AT_MOST: f64 = 0.7;

/// The run's account. Wall clock only passes; the rest is debited and corrected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    spent: Spend,
}

impl Account {
    pub(super) fn spent(&self) -> Spend {
        self.spent
    }

    pub(super) fn debit(&mut self, estimate: &Spend) {
        self.spent.gpu_seconds += estimate.gpu_seconds;
        self.spent.evaluations += estimate.evaluations;
        self.spent.tokens += estimate.tokens;
        self.spent.usd += estimate.usd;
    }

    /// Puts what was really spent in the place of the debit.
    pub(super) fn correct(&mut self, estimate: &Spend, actual: &Spend) {
        self.credit(estimate);
        self.debit(actual);
    }

    /// Takes a debit back.
    pub(super) fn credit(&mut self, estimate: &Spend) {
        self.spent.gpu_seconds = (self.spent.gpu_seconds - estimate.gpu_seconds).max(0.0);
        self.spent.evaluations = self.spent.evaluations.saturating_sub(estimate.evaluations);
        self.spent.tokens = self.spent.tokens.saturating_sub(estimate.tokens);
        self.spent.usd = (self.spent.usd - estimate.usd).max(0.0);
    }

    /// A job under way was lost with its session and will be done again: its seconds are gone, and
    /// the debit stands for the second attempt.
    pub(super) fn lose(&mut self, estimate: &Spend) {
        self.spent.gpu_seconds += estimate.gpu_seconds;
    }

    pub(super) fn pass(&mut self, wall_seconds: f64) {
        self.spent.wall_seconds += wall_seconds.max(0.0);
    }
}

/// Running mean of costs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeanCost {
    total: Cost,
    count: u64,
}

impl MeanCost {
    pub(super) fn add(&mut self, cost: &Cost) {
        self.total.gpu_seconds += cost.gpu_seconds;
        self.total.wall_seconds += cost.wall_seconds;
        self.count += 1;
    }

    pub(super) fn mean(&self) -> Option<Cost> {
        let count = self.count as f64;
        (self.count > 0).then(|| Cost {
            gpu_seconds: self.total.gpu_seconds / count,
            wall_seconds: self.total.wall_seconds / count,
        })
    }
}
