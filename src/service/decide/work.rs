//! What a runner tells of a job.

use super::{Policy, check, end, order, place_of, step};
use crate::{
    report::pull_request::Progress,
    service::{
        effect::{self, CheckStage, Task},
        key::Key,
        order::Results,
        words,
    },
    store::service::{Change, Job, JobState, Millis},
};

/// The checkout stands; the search begins.
pub fn started(job: &Job, now: Millis) -> Change {
    let mut change = Change::default();
    change.transitions.push(step(job, JobState::Running));
    let words = words::begun(&order(job).kernels);
    change.effects.push(check(job, CheckStage::InProgress, words, now));
    change
}

/// A search under way has something new to show.
pub fn progressed(job: &Job, progress: &Progress, now: Millis) -> Change {
    let words = words::progress(progress);
    let effects = vec![check(job, CheckStage::InProgress, words, now)];
    // Only while it is under way: what is shown of a job that has ended must not be overwritten.
    let transitions = vec![step(job, JobState::Running)];
    Change { effects, transitions, ..Change::default() }
}

/// The search is over: what came of it is kept, and is to be delivered.
pub fn measured(job: &Job, results: &Results, spent_seconds: u64, now: Millis) -> Change {
    let mut change = Change::default();
    let mut transition = step(job, JobState::Measured);
    transition.result = serde_json::to_value(results).ok();
    transition.spent_seconds = Some(spent_seconds);
    change.transitions.push(transition);
    let task = Task::Publish { job: job.new.id.clone() };
    let key = Key::Publish(job.new.id.clone());
    change.effects.push(effect::new(&key, &place_of(job), task, now));
    change
}

/// The job cannot be carried out, and trying again would not help.
pub fn failed(job: &Job, reason: &str, now: Millis) -> Change {
    let mut change = Change::default();
    end(&mut change, job, JobState::Failed, reason, now);
    if order(job).asked {
        // Whoever asks again is answered again.
        let key = Key::Remark { pull: job.new.pull, about: format!("failed {}", job.new.id) };
        let body = words::marked(&key, &words::failed(job, reason));
        change.effects.push(effect::new(&key, &place_of(job), Task::Comment { body }, now));
    }
    change
}

/// A runner was not heard of for too long: somebody else may have the job.
pub fn lease_lost(job: &Job, policy: &Policy, now: Millis) -> Change {
    if job.attempts >= policy.attempts {
        let reason = format!("it was begun {} times and no runner came to an end", job.attempts);
        return failed(job, &reason, now);
    }
    let mut change = Change::default();
    let mut transition = step(job, JobState::Queued);
    transition.reason = Some("its runner was not heard of any more".to_owned());
    change.transitions.push(transition);
    change.effects.push(check(job, CheckStage::Queued, words::waiting_again(), now));
    change
}

/// A runner cannot go on with a job that another attempt may bring to an end. After `at_most` attempts
/// there is no other; `None` where it was not the job's fault.
pub fn given_back(job: &Job, reason: &str, at_most: Option<u32>, now: Millis) -> Change {
    if at_most.is_some_and(|at_most| job.attempts >= at_most) {
        return failed(job, reason, now);
    }
    let mut change = Change::default();
    let mut transition = step(job, JobState::Queued);
    transition.reason = Some(reason.to_owned());
    change.transitions.push(transition);
    change.effects.push(check(job, CheckStage::Queued, words::postponed(reason), now));
    change
}
