//! What a decision changes, all or none.

use serde_json::Value;

use super::{JobId, JobState, NewEffect, NewJob};

/// Everything that follows from one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// The delivery that is handled by it.
    pub delivery: Option<String>,
    pub new_jobs: Vec<NewJob>,
    pub transitions: Vec<Transition>,
    pub effects: Vec<NewEffect>,
    /// The effect whose completion it follows from.
    pub done: Option<EffectDone>,
    /// Effects that are not owed any more: those of these keys, unless they are done. One that is
    /// also among `effects` is owed anew.
    pub dropped_effects: Vec<String>,
}

/// A job's step to another state, or to more of the same. Into the hands of a runner a job comes by
/// [`super::JobStore::lease`] alone: here it may go from leased to running, and an attempt at more is an
/// error. Out of them it goes by any step to another state, which ends the lease.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub job: JobId,
    /// The version it was decided upon.
    pub version: u64,
    pub to: JobState,
    /// Kept where given.
    pub progress: Option<Value>,
    pub result: Option<Value>,
    pub reason: Option<String>,
    pub spent_seconds: Option<u64>,
}

impl Transition {
    pub fn new(job: JobId, version: u64, to: JobState) -> Self {
        Self { job, version, to, progress: None, result: None, reason: None, spent_seconds: None }
    }
}

/// An effect was performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectDone {
    pub key: String,
    /// The revision that was performed; a newer one stays owed.
    pub revision: u64,
    /// What it made at GitHub: id of a comment, name of a branch.
    pub remote: Option<String>,
}

/// Whether a change was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    Kept,
    /// Somebody else was faster: read again, decide again. Nothing was kept.
    Conflict,
    /// A job of the same origin exists: what asked for it was handled before. Nothing was kept but
    /// that the delivery, and the effect that was performed, are done.
    Duplicate,
}
