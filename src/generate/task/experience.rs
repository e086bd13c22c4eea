//! What came of tasks before, on kernels and GPUs of the same kind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What experience is kept for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Name of an expert task, or the text of a move.
    pub task: String,
    /// Fingerprint of the operator.
    pub operator: String,
    /// `sm_90`
    pub arch: String,
}

/// How often something was tried and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub tries: u32,
    /// Correct candidates that were faster than their parents beyond noise; at most `tries`.
    pub successes: u32,
    /// Of the successes: the parent's time over the candidate's.
    pub median_gain: Option<f64>,
}

/// Whether a task is worth another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is known, or too little.
    Open,
    /// It helped often enough.
    Use,
    /// It hardly ever helped.
    Avoid,
}

/// A task is avoided under this share of successes … (KernelOPT, section 4.5)
const AVOID_BELOW: f64 = 0.3;
/// … after so many tries.
const ENOUGH_TRIES: u32 = 3;

impl Tally {
    pub fn standing(&self) -> Standing {
        let rate = f64::from(self.successes) / f64::from(self.tries.max(1));
        match self.tries {
            tries if tries < ENOUGH_TRIES => Standing::Open,
            _ if rate < AVOID_BELOW => Standing::Avoid,
            _ => Standing::Use,
        }
    }

    /// Expected gain of another try in log time, shrunk towards what is expected without experience:
    /// one success in two tries, with the gain that the task promises.
    pub(super) fn expected_log_gain(&self, promised: f64) -> f64 {
        let (tries, successes) = (f64::from(self.tries), f64::from(self.successes.min(self.tries)));
        let chance = (successes + 1.0) / (tries + 2.0);
        let gain = self.median_gain.filter(|gain| gain.is_finite() && *gain > 1.0);
        let weight = if gain.is_some() { successes } else { 0.0 };
        let measured = gain.map_or(0.0, f64::ln);
        chance * (measured * weight + promised.ln()) / (weight + 1.0)
    }
}

/// All that is remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experience(BTreeMap<Subject, Tally>);

impl Experience {
    /// What is known of `task` on this operator and architecture.
    pub fn of(&self, task: &str, operator: &str, arch: &str) -> Option<Tally> {
        let subject = Subject { task: task.into(), operator: operator.into(), arch: arch.into() };
        self.0.get(&subject).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Subject, &Tally)> {
        self.0.iter()
    }
}

impl FromIterator<(Subject, Tally)> for Experience {
    fn from_iter<I: IntoIterator<Item = (Subject, Tally)>>(tallies: I) -> Self {
        Self(tallies.into_iter().collect())
    }
}
