//! What ends a job, or keeps one from beginning, besides a result.

use serde_json::json;

use super::*;
use crate::store::service::Effect;

#[test]
fn a_label_is_for_the_head_that_it_was_put_on() {
    let mut facts = facts();
    facts.pull.labels = vec!["optimize-kernel".into()];
    let trigger = Trigger::Label { delivery: "d".into(), sha: OTHER.into() };
    let change = request(&Approval { trigger, ..label() }, &facts, &policy());
    assert!(change.new_jobs.is_empty());
    assert_eq!(tasks(&change), [Task::RemoveLabel { label: "optimize-kernel".into() }]);
}

#[test]
fn a_result_that_is_being_delivered_is_not_overtaken() {
    let facts = Facts { jobs: vec![measured_job(true, false)], ..facts() };
    let change = request(&command(8), &facts, &policy());
    assert!(change.new_jobs.is_empty());
    assert!(said(&change).contains("being delivered already"), "{}", said(&change));
}

#[test]
fn a_push_while_delivering_takes_back_what_is_not_said_yet() {
    let delivering = measured_job(true, false);
    let mut pull = facts().pull;
    pull.head_sha = OTHER.into();
    let change = pushed(&pull, std::slice::from_ref(&delivering), "optimize-kernel", 0);
    assert_eq!(change.transitions[0].to, JobState::Superseded);
    let result = Key::Result { pull: PULL, sha: HEAD.into() }.to_string();
    assert!(change.dropped_effects.contains(&result));
    let folds = |task: &Task| matches!(task, Task::Outdate { sha } if sha == OTHER);
    assert!(tasks(&change).iter().any(folds), "what was said already is folded away");
}

#[test]
fn a_runner_gives_a_job_back_so_often_and_a_stop_does_not_count() {
    let mut tried = job(JobState::Running, HEAD);
    let back = given_back(&tried, "no GPU", Some(2), 0);
    assert_eq!(back.transitions[0].to, JobState::Queued);
    let waits = |task: &Task| matches!(task, Task::Check(it) if it.stage == CheckStage::Queued && it.summary.contains("no GPU"));
    assert!(tasks(&back).iter().any(waits));
    tried.attempts = 2;
    let last = given_back(&tried, "no GPU", Some(2), 0);
    assert_eq!(last.transitions[0].to, JobState::Failed);
    let stopped = given_back(&tried, "its runner was stopped", None, 0);
    assert_eq!(stopped.transitions[0].to, JobState::Queued);
}

#[test]
fn what_a_search_took_counts_although_its_runner_was_heard_of_just_now() {
    let mut old = job(JobState::Running, OTHER);
    old.updated = 999_000;
    let kernel = json!({"name": "rmsnorm", "budget_seconds": 1200.0, "budget_left_seconds": 500.0});
    old.progress = json!({"kernels": [kernel]});
    let change = pushed(&facts().pull, &[old], "optimize-kernel", 1_000_000);
    assert_eq!(change.transitions[0].spent_seconds, Some(701));
}

#[test]
fn nothing_is_owed_where_the_app_is_gone() {
    let effect =
        super::check(&job(JobState::Running, HEAD), CheckStage::Queued, words::waiting_again(), 0);
    let key = effect.key.clone();
    let owed = Effect {
        number: 1,
        new: effect,
        revision: 1,
        state: crate::store::service::EffectState::Owed,
        attempts: 0,
        remote: None,
        error: None,
    };
    let jobs = [job(JobState::Running, HEAD)];
    let change = installation_gone(&jobs, std::slice::from_ref(&owed), PULL.installation, 0);
    assert_eq!(change.transitions[0].to, JobState::Cancelled);
    assert!(change.effects.is_empty());
    assert_eq!(change.dropped_effects, [key]);
    assert!(installation_gone(&jobs, &[], 6, 0).transitions.is_empty(), "others go on");
}

#[test]
fn whoever_asked_for_a_commit_hears_why_there_is_none() {
    let job = Job { state: JobState::Reported, ..measured_job(true, false) };
    let task = Task::Commit { job: job.new.id.clone(), comment: 9, by: "ada".into() };
    let change = given_up(&Body { place: place_of(&job), task }, "it is gone", Some(&job), 0);
    assert!(said(&change).contains("it is gone"), "{}", said(&change));
}
