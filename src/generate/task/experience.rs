//! What came of tasks before, on kernels and GPUs of the same kind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What experience is kept for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Name of an expert task, or `recipe` and the verbs of a recipe: `recipe tile+warps`.
    pub task: String,
    /// Fingerprint of the operator.
    pub operator: String,
    /// `sm_90`, or `cpu`.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
pub(crate) const ENOUGH_TRIES: u32 = 3;

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

/// What is known about one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    pub subject: Subject,
    pub tally: Tally,
    /// What was learnt, or how it fails; one line, for a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// All that is remembered. As JSON a list of what is [`Known`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Known>", into = "Vec<Known>")]
pub struct Experience(BTreeMap<Subject, (Tally, Option<String>)>);

impl Experience {
    /// What is known of `task` on this operator and architecture.
    pub fn of(&self, task: &str, operator: &str, arch: &str) -> Option<Tally> {
        let subject = Subject { task: task.into(), operator: operator.into(), arch: arch.into() };
        self.0.get(&subject).map(|(tally, _)| *tally)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Subject, &Tally)> {
        self.0.iter().map(|(subject, (tally, _))| (subject, tally))
    }

    /// What was learnt about `subject`, if anything.
    pub fn note(&self, subject: &Subject) -> Option<&str> {
        self.0.get(subject)?.1.as_deref()
    }
}

impl FromIterator<(Subject, Tally)> for Experience {
    fn from_iter<I: IntoIterator<Item = (Subject, Tally)>>(tallies: I) -> Self {
        let bare = |(subject, tally)| Known { subject, tally, note: None };
        tallies.into_iter().map(bare).collect()
    }
}

impl FromIterator<Known> for Experience {
    fn from_iter<I: IntoIterator<Item = Known>>(known: I) -> Self {
        Self(known.into_iter().map(|it| (it.subject, (it.tally, it.note))).collect())
    }
}

impl From<Vec<Known>> for Experience {
    fn from(known: Vec<Known>) -> Self {
        known.into_iter().collect()
    }
}

impl From<Experience> for Vec<Known> {
    fn from(experience: Experience) -> Self {
        let known = |(subject, (tally, note))| Known { subject, tally, note };
        experience.0.into_iter().map(known).collect()
    }
}
