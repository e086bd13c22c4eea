//! What ends jobs from outside: a push, a closed pull request, an App that was taken off.

use super::{PullFacts, end, pull_key};
use crate::{
    service::{
        effect::{self, Task},
        key::Key,
    },
    store::service::{Change, Effect, Job, JobState, Millis, NewEffect},
};

/// The pull request has the head that `pull` says; jobs of others are superseded. The label has approved
/// what it was put on, so it goes.
pub fn pushed(pull: &PullFacts, jobs: &[Job], label: &str, now: Millis) -> Change {
    let mut change = Change::default();
    for job in jobs.iter().filter(|job| job.new.head_sha != pull.head_sha) {
        if is_owed_something(job) {
            end(&mut change, job, JobState::Superseded, "a newer commit came", now);
        }
    }
    change.effects.extend(unlabel(pull, label, now));
    // Of a job that was being delivered, the comment may be there already.
    if jobs.iter().any(|job| matches!(job.state, JobState::Measured | JobState::Reported)) {
        let key = Key::Outdate { pull: pull_key(pull), sha: pull.head_sha.clone() };
        let task = Task::Outdate { sha: pull.head_sha.clone() };
        change.effects.push(effect::new(&key, &pull.place, task, now));
    }
    change
}

/// Takes the label off, where it is on.
pub(super) fn unlabel(pull: &PullFacts, label: &str, now: Millis) -> Option<NewEffect> {
    let is_on = pull.labels.iter().any(|there| there == label);
    let key = Key::Unlabel { pull: pull_key(pull), sha: pull.head_sha.clone() };
    let task = Task::RemoveLabel { label: label.to_owned() };
    is_on.then(|| effect::new(&key, &pull.place, task, now))
}

/// Something of it is still to be searched or delivered.
fn is_owed_something(job: &Job) -> bool {
    !job.state.is_over() || job.state == JobState::Measured
}

/// The pull request was closed or merged.
pub fn closed(jobs: &[Job], now: Millis) -> Change {
    let mut change = Change::default();
    for job in jobs.iter().filter(|job| !job.state.is_over()) {
        end(&mut change, job, JobState::Cancelled, "the pull request was closed", now);
    }
    change
}

/// The App may not act for an account any more: its jobs end, nothing is said to anybody, and what is
/// `owed` there will not be done.
pub fn installation_gone(jobs: &[Job], owed: &[Effect], installation: u64, now: Millis) -> Change {
    let mut change = Change::default();
    let of_it = |job: &&Job| job.new.pull.installation == installation;
    for job in jobs.iter().filter(of_it).filter(|job| is_owed_something(job)) {
        end(&mut change, job, JobState::Cancelled, "the App was uninstalled", now);
    }
    change.effects.clear();
    change.dropped_effects = owed.iter().map(|effect| effect.new.key.clone()).collect();
    change
}
