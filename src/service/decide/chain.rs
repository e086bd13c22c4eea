//! What follows from an effect that was performed: delivery, then the comment, then the check run's
//! conclusion, then the job is reported. One after the other, so that each says what came before it.

use super::{check, order, place_of, step};
use crate::{
    service::{
        effect::{self, Body, Task},
        key::Key,
        order::{Delivered, Delivery, Results, results_of},
        words,
    },
    store::service::{Change, EffectDone, Job, JobState, Millis},
};

/// What performing an effect gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Completed {
    /// It is done.
    Done,
    /// The verified kernels were delivered so.
    Published(Delivery),
    /// It is not wanted any more: the pull request has another head.
    Stale,
}

/// What follows from `body` being performed. `job` is the one it belongs to, as it stands now.
pub fn after(
    body: &Body,
    done: EffectDone,
    completed: &Completed,
    job: Option<&Job>,
    now: Millis,
) -> Change {
    let mut change = Change { done: Some(done), ..Change::default() };
    let Some(job) = job.filter(|job| job.state == JobState::Measured) else { return change };
    let results = results_of(job).unwrap_or_default();
    match (&body.task, completed) {
        (Task::Publish { .. }, Completed::Published(delivery)) => {
            if is_worth_a_comment(&results) || order(job).asked {
                let key = Key::Result { pull: job.new.pull, sha: job.new.head_sha.clone() };
                let delivery = delivery.clone();
                let task = Task::Result { job: job.new.id.clone(), delivery };
                change.effects.push(effect::new(&key, &place_of(job), task, now));
            } else {
                conclude(&mut change, job, &results, delivery, now);
            }
        }
        (Task::Publish { .. }, Completed::Stale) => {
            super::end(&mut change, job, JobState::Superseded, "a newer commit came", now);
        }
        (Task::Result { delivery, .. }, _) => conclude(&mut change, job, &results, delivery, now),
        (Task::Check(state), _) if state.stage.is_over() => {
            change.transitions.push(step(job, JobState::Reported));
        }
        _ => {}
    }
    change
}

/// Something faster was found, or something went wrong that people should know of.
fn is_worth_a_comment(results: &Results) -> bool {
    results.verified().next().is_some()
}

fn conclude(change: &mut Change, job: &Job, results: &Results, delivery: &Delivery, now: Millis) {
    let (stage, words) = words::conclusion(job, results, delivery);
    change.effects.push(check(job, stage, words, now));
}

/// What follows from an effect that is given up: what comes after it must not wait for ever.
pub fn given_up(body: &Body, error: &str, job: Option<&Job>, now: Millis) -> Change {
    let mut change = Change::default();
    if let Task::Commit { comment, .. } = &body.task {
        let key = Key::Reply { comment: *comment };
        let refused = words::Committed::Refused { message: error.to_owned() };
        let body_text = words::marked(&key, &words::committed(&refused));
        change.effects.push(effect::new(&key, &body.place, Task::Comment { body: body_text }, now));
        return change;
    }
    let Some(job) = job.filter(|job| job.state == JobState::Measured) else { return change };
    let results = results_of(job).unwrap_or_default();
    match &body.task {
        // What cannot be delivered otherwise is in the comment as a patch.
        Task::Publish { .. } => {
            let instead = format!("GitHub refused everything else: {error}");
            let by_hand = |kernel: &crate::service::order::KernelOutcome| match kernel.verified {
                Some(_) => Delivered::Patch { instead: instead.clone() },
                None => Delivered::Nothing,
            };
            let delivery = Delivery { kernels: results.kernels.iter().map(by_hand).collect() };
            let key = Key::Result { pull: job.new.pull, sha: job.new.head_sha.clone() };
            let task = Task::Result { job: job.new.id.clone(), delivery };
            change.effects.push(effect::new(&key, &place_of(job), task, now));
        }
        Task::Result { delivery, .. } => conclude(&mut change, job, &results, delivery, now),
        Task::Check(state) if state.stage.is_over() => {
            let mut transition = step(job, JobState::Failed);
            transition.reason = Some(format!("GitHub did not take the results: {error}"));
            change.transitions.push(transition);
        }
        _ => {}
    }
    change
}
