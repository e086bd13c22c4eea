//! What follows from an event: pure, from what is known to one change that is kept all or none.
//!
//! Races, and what settles them:
//!
//! - Two events of a pull request at once: every transition names the version it was decided upon, and of
//!   two changes one is refused and decided anew from what is known then.
//! - The same event twice: deliveries, jobs and effects have keys; the second is nothing.
//! - A push between approval and search: a job names the commit that was approved, and nothing else is
//!   ever checked out or delivered to.
//! - A runner that lost its lease and does not know it yet: its fence is old, its changes are refused.

mod chain;
mod conversation;
mod request;
mod upheaval;
mod work;

pub use chain::{Completed, after, given_up};
pub use conversation::{cancel_by_button, converse};
pub use request::{Approval, Refusal, Trigger, request};
pub use upheaval::{closed, installation_gone, pushed};
pub use work::{failed, given_back, lease_lost, measured, progressed, started};

use super::{
    effect::{self, CheckStage, CheckState, Place, Task},
    key::Key,
    order::{Order, order_of},
    targets::NoTarget,
    words,
};
use crate::{
    github::Permission,
    report::pull_request::{KernelProgress, Progress},
    store::service::{Change, Job, JobId, JobState, Millis, NewEffect, PullKey, Spent, Transition},
};

/// What a maintainer of the service may choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The label that asks for a search.
    pub label: String,
    /// Seconds that a job gets where nobody says otherwise, and the most that one may get.
    pub budget_seconds: u64,
    pub most_seconds: u64,
    /// Seconds for all jobs of a pull request, and in a day of a person and of an installation.
    pub pull_seconds: u64,
    pub user_seconds: u64,
    pub installation_seconds: u64,
    /// Times that a job is begun before it is given up.
    pub attempts: u32,
    /// Milliseconds between two looks of a check run.
    pub progress_every: Millis,
    /// GPU label that jobs ask for; empty for any.
    pub gpu: String,
}

/// A pull request as GitHub described it just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullFacts {
    pub place: Place,
    pub open: bool,
    pub head_sha: String,
    pub head_ref: String,
    pub base_sha: String,
    /// Id and name of the repository that the head lies in; `None` where that was deleted.
    pub head_repository: Option<(u64, String)>,
    pub labels: Vec<String>,
}

impl PullFacts {
    /// Whether the head lies in another repository: by their ids, since a base may be a fork itself.
    pub fn is_foreign(&self) -> bool {
        self.head_repository.as_ref().is_none_or(|(id, _)| *id != self.place.pull.repository)
    }
}

/// What an event of a pull request is decided upon.
#[derive(Clone, Debug)]
pub struct Facts {
    pub now: Millis,
    pub pull: PullFacts,
    /// Of whoever sent the event, as the API says.
    pub permission: Permission,
    /// All jobs of the pull request, the newest first.
    pub jobs: Vec<Job>,
    /// Of the pull request, and in the last day of the person and the installation.
    pub spent_on_pull: Spent,
    pub spent_by_user: Spent,
    pub spent_by_installation: Spent,
    /// Jobs of anybody that wait for a GPU, the next one first.
    pub queue: Vec<JobId>,
    pub targets: Result<Vec<super::order::KernelOrder>, NoTarget>,
}

impl Facts {
    fn may_write(&self) -> bool {
        matches!(self.permission, Permission::Write | Permission::Admin)
    }

    /// Jobs that are queued or under way.
    fn open_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| !job.state.is_over())
    }
}

/// Where a job's texts go.
pub(super) fn place_of(job: &Job) -> Place {
    Place { pull: job.new.pull, repository: job.new.repository.clone() }
}

/// The effect by which a job's check run shows `stage`.
fn check(job: &Job, stage: CheckStage, text: words::CheckWords, due: Millis) -> NewEffect {
    check_of(&place_of(job), &job.new.id, &job.new.head_sha, stage, text, due)
}

fn check_of(
    place: &Place,
    job: &JobId,
    sha: &str,
    stage: CheckStage,
    text: words::CheckWords,
    due: Millis,
) -> NewEffect {
    let words::CheckWords { title, summary, text } = text;
    let state = CheckState { sha: sha.to_owned(), job: job.clone(), stage, title, summary, text };
    let key = Key::Check { pull: place.pull, sha: sha.to_owned() };
    effect::new(&key, place, Task::Check(state), due)
}

/// A job's step to `to`.
fn step(job: &Job, to: JobState) -> Transition {
    Transition::new(job.new.id.clone(), job.version, to)
}

/// Ends a job that is not over, with its check run.
fn end(change: &mut Change, job: &Job, to: JobState, reason: &str, now: Millis) {
    let mut transition = step(job, to);
    transition.reason = Some(reason.to_owned());
    transition.spent_seconds = Some(spent(job, now));
    change.transitions.push(transition);
    let stage = match to {
        JobState::Failed => CheckStage::Failure,
        _ => CheckStage::Cancelled,
    };
    change.effects.push(check(job, stage, words::ended(to, reason), now));
    // Nothing is delivered any more, nor said of a delivery.
    change.dropped_effects.push(Key::Publish(job.new.id.clone()).to_string());
    let result = Key::Result { pull: job.new.pull, sha: job.new.head_sha.clone() };
    change.dropped_effects.push(result.to_string());
}

/// Seconds that a job held a GPU host, as far as is known: those that its runner told of, and those
/// since it was heard of last.
fn spent(job: &Job, now: Millis) -> u64 {
    if !job.state.is_held() {
        return job.spent_seconds.unwrap_or(0);
    }
    let progress: Progress = serde_json::from_value(job.progress.clone()).unwrap_or_default();
    let of_budget = |kernel: &KernelProgress| {
        Some((kernel.budget_seconds? - kernel.budget_left_seconds?).max(0.0))
    };
    let told: f64 = progress.kernels.iter().filter_map(of_budget).sum();
    let silent = now.saturating_sub(job.updated).max(0) as u64 / 1000;
    (told as u64).saturating_add(silent).min(job.new.budget_seconds.saturating_mul(2))
}

/// The order of a job; one that cannot be read asks for nothing.
fn order(job: &Job) -> Order {
    order_of(job).unwrap_or_else(|_| Order {
        kernels: Vec::new(),
        asked: false,
        head_ref: String::new(),
        fork: None,
    })
}

fn pull_key(pull: &PullFacts) -> PullKey {
    pull.place.pull
}

#[cfg(test)]
mod tests;
