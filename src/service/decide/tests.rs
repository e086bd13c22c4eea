mod endings;

use serde_json::Value;

use super::*;
use crate::{
    service::{
        command::{self, Command},
        effect::{Body, Reaction},
        order::{Delivered, Delivery, KernelOrder, KernelOutcome, Results, Side},
    },
    store::service::{EffectDone, JobId, Lease, NewJob},
};

const HEAD: &str = "1111111111111111111111111111111111111111";
const OTHER: &str = "2222222222222222222222222222222222222222";
const BASE: &str = "0000000000000000000000000000000000000000";
const PULL: PullKey = PullKey { installation: 5, repository: 77, number: 12 };

fn policy() -> Policy {
    Policy {
        label: "optimize-kernel".into(),
        budget_seconds: 1200,
        most_seconds: 7200,
        pull_seconds: 10_000,
        user_seconds: 20_000,
        installation_seconds: 30_000,
        attempts: 3,
        progress_every: 15_000,
        gpu: String::new(),
    }
}

fn kernel() -> KernelOrder {
    KernelOrder {
        name: "rmsnorm".into(),
        source: "ops/rmsnorm.py".into(),
        configured_by: Side::Base,
        notes: Vec::new(),
    }
}

fn facts() -> Facts {
    Facts {
        now: 1_000_000,
        pull: PullFacts {
            place: Place { pull: PULL, repository: "acme/kernels".into() },
            open: true,
            head_sha: HEAD.into(),
            head_ref: "faster".into(),
            base_sha: BASE.into(),
            head_repository: Some((77, "acme/kernels".into())),
            labels: Vec::new(),
        },
        permission: Permission::Write,
        jobs: Vec::new(),
        spent_on_pull: Spent::default(),
        spent_by_user: Spent::default(),
        spent_by_installation: Spent::default(),
        queue: Vec::new(),
        targets: Ok(vec![kernel()]),
    }
}

fn fork() -> Facts {
    let mut facts = facts();
    facts.pull.head_repository = Some((99, "stranger/kernels".into()));
    facts
}

fn command(comment: u64) -> Approval {
    let trigger = Trigger::Command { comment };
    Approval { trigger, sender: "ada".into(), sha: None, budget: None }
}

fn label() -> Approval {
    let trigger = Trigger::Label { delivery: "d-1".into(), sha: HEAD.into() };
    Approval { trigger, sender: "ada".into(), sha: None, budget: None }
}

fn job(state: JobState, head: &str) -> Job {
    let change = request(&command(7), &facts(), &policy());
    let new = change.new_jobs.into_iter().next().unwrap();
    let held = state.is_held();
    Job {
        new: NewJob { head_sha: head.into(), ..new },
        state,
        version: 4,
        lease: held.then(|| Lease { runner: "gpu-1".into(), fence: 1, until: 2_000_000 }),
        attempts: 1,
        spent_seconds: None,
        progress: Value::Null,
        result: Value::Null,
        reason: String::new(),
        created: 0,
        updated: 400_000,
    }
}

fn tasks(change: &Change) -> Vec<Task> {
    let body = |effect: &NewEffect| serde_json::from_value::<Body>(effect.body.clone()).unwrap();
    change.effects.iter().map(|effect| body(effect).task).collect()
}

/// The text of the one comment that a change owes.
fn said(change: &Change) -> String {
    let texts: Vec<String> = tasks(change)
        .into_iter()
        .filter_map(|task| match task {
            Task::Comment { body } => Some(body),
            _ => None,
        })
        .collect();
    let [text] = texts.as_slice() else { panic!("{texts:?}") };
    text.clone()
}

fn says_nothing(change: &Change) -> bool {
    !tasks(change).iter().any(|task| matches!(task, Task::Comment { .. }))
}

#[test]
fn a_writer_gets_a_job_for_exactly_this_commit() {
    let change = request(&label(), &facts(), &policy());
    let [job] = change.new_jobs.as_slice() else { panic!() };
    assert_eq!((job.head_sha.as_str(), job.base_sha.as_str()), (HEAD, BASE));
    assert_eq!((job.requested_by.as_str(), job.budget_seconds), ("ada", 1200));
    let tasks = tasks(&change);
    let is_queued = |task: &Task| matches!(task, Task::Check(it) if it.stage == CheckStage::Queued);
    assert!(tasks.iter().any(is_queued), "{tasks:?}");
    assert!(tasks.contains(&Task::ReactToPull { reaction: Reaction::Eyes }));
    assert!(says_nothing(&change), "the check run shows it");
}

#[test]
fn asking_twice_in_one_comment_is_one_job() {
    let first = request(&command(7), &facts(), &policy());
    let again = request(&command(7), &facts(), &policy());
    assert_eq!(first.new_jobs[0].id, again.new_jobs[0].id);
    assert_eq!(first.new_jobs[0].origin, again.new_jobs[0].origin);
    assert_ne!(first.new_jobs[0].id, request(&command(8), &facts(), &policy()).new_jobs[0].id);
}

#[test]
fn a_stranger_gets_nothing_and_makes_the_bot_say_nothing() {
    for permission in [Permission::Read, Permission::None] {
        let facts = Facts { permission, ..facts() };
        for approval in [label(), command(7)] {
            let change = request(&approval, &facts, &policy());
            assert!(change.new_jobs.is_empty() && says_nothing(&change));
        }
        for text in ["/kernelbrain cancel", "/kernelbrain commit", "/kernelbrain nonsense"] {
            let parsed = command::parse(text).unwrap();
            let change = converse(&parsed, 7, "eve", &facts);
            assert!(change.transitions.is_empty() && says_nothing(&change));
            let confused = Task::ReactToComment { comment: 7, reaction: Reaction::Confused };
            assert_eq!(tasks(&change), [confused]);
        }
        assert_eq!(cancel_by_button("eve", HEAD, &facts), Change::default());
    }
}

#[test]
fn a_fork_needs_the_whole_sha() {
    let change = request(&label(), &fork(), &policy());
    assert!(change.new_jobs.is_empty());
    assert!(said(&change).contains(&format!("/kernelbrain optimize {HEAD}")));
    let quoted = Approval { sha: Some(HEAD.into()), ..command(7) };
    let change = request(&quoted, &fork(), &policy());
    let order: Order = serde_json::from_value(change.new_jobs[0].order.clone()).unwrap();
    assert_eq!(
        order.fork,
        Some(crate::service::order::Fork { repository: Some("stranger/kernels".into()) })
    );
    // The button of a check run names no commit that somebody read.
    let button = Trigger::Button { delivery: "d-2".into(), sha: HEAD.into() };
    let pressed = Approval { trigger: button, ..label() };
    assert!(request(&pressed, &fork(), &policy()).new_jobs.is_empty());
    // A fork that was deleted is a fork.
    let mut gone = facts();
    gone.pull.head_repository = None;
    assert!(request(&label(), &gone, &policy()).new_jobs.is_empty());
}

#[test]
fn a_base_that_is_a_fork_itself_is_not_foreign_to_itself() {
    let mut facts = facts();
    facts.pull.place.pull.repository = 99;
    facts.pull.head_repository = Some((99, "renamed/since".into()));
    assert!(!facts.pull.is_foreign());
}

#[test]
fn a_commit_that_is_not_the_head_is_refused() {
    let old = Approval { sha: Some(OTHER.into()), ..command(7) };
    let change = request(&old, &facts(), &policy());
    assert!(change.new_jobs.is_empty());
    assert!(said(&change).contains(HEAD), "{}", said(&change));
    let trigger = Trigger::Button { delivery: "d".into(), sha: OTHER.into() };
    assert!(request(&Approval { trigger, ..label() }, &facts(), &policy()).new_jobs.is_empty());
}

#[test]
fn budgets_bound_what_a_pull_request_a_person_and_a_day_may_have() {
    let spent = Spent { seconds: 9_000, jobs: 3 };
    let refused = |facts: Facts, approval: Approval| {
        let change = request(&approval, &facts, &policy());
        assert!(change.new_jobs.is_empty());
        said(&change)
    };
    let text = refused(Facts { spent_on_pull: spent, ..facts() }, command(7));
    assert!(text.contains("pull request's searches"), "{text}");
    let spent = Spent { seconds: 19_000, jobs: 3 };
    let text = refused(Facts { spent_by_user: spent, ..facts() }, command(7));
    assert!(text.contains("a day"), "{text}");
    let spent = Spent { seconds: 29_000, jobs: 3 };
    let text = refused(Facts { spent_by_installation: spent, ..facts() }, command(7));
    assert!(text.contains("installation"), "{text}");
    let greedy = std::time::Duration::from_secs(7201);
    let text = refused(facts(), Approval { budget: Some(greedy), ..command(7) });
    assert!(text.contains("2h"), "{text}");
    // A job that is replaced gives back what it was granted.
    let old = job(JobState::Running, OTHER);
    let spent = Spent { seconds: 9_900, jobs: 1 };
    let facts = Facts { spent_on_pull: spent, jobs: vec![old], ..facts() };
    assert_eq!(request(&command(7), &facts, &policy()).new_jobs.len(), 1);
}

#[test]
fn a_newer_head_supersedes_what_was_under_way() {
    let old = job(JobState::Running, OTHER);
    let mut pull = facts().pull;
    pull.labels = vec!["optimize-kernel".into(), "bug".into()];
    let change = pushed(&pull, std::slice::from_ref(&old), "optimize-kernel", 1_000_000);
    let [step] = change.transitions.as_slice() else { panic!() };
    assert_eq!((step.to, step.version), (JobState::Superseded, old.version));
    assert_eq!(step.spent_seconds, Some(600), "what it held the host for counts");
    let tasks = tasks(&change);
    assert!(tasks.contains(&Task::RemoveLabel { label: "optimize-kernel".into() }));
    let cancelled = |task: &Task| matches!(task, Task::Check(it) if it.stage == CheckStage::Cancelled && it.sha == OTHER);
    assert!(tasks.iter().any(cancelled), "{tasks:?}");
    assert!(change.dropped_effects.contains(&Key::Publish(old.new.id.clone()).to_string()));
    // What is about this very head goes on.
    let same = job(JobState::Running, HEAD);
    assert!(pushed(&pull, &[same], "optimize-kernel", 0).transitions.is_empty());
}

#[test]
fn a_search_of_the_same_commit_is_not_begun_twice() {
    for state in [JobState::Queued, JobState::Leased, JobState::Running] {
        let facts = Facts { jobs: vec![job(state, HEAD)], ..facts() };
        let change = request(&label(), &facts, &policy());
        assert!(change.new_jobs.is_empty() && says_nothing(&change), "a label says it silently");
        assert!(said(&request(&command(8), &facts, &policy())).contains("already"));
    }
    for state in [JobState::Reported, JobState::Failed, JobState::Cancelled] {
        let facts = Facts { jobs: vec![job(state, HEAD)], ..facts() };
        assert_eq!(request(&label(), &facts, &policy()).new_jobs.len(), 1, "{state:?}");
    }
}

#[test]
fn a_runner_that_falls_silent_loses_the_job_and_in_the_end_the_job_is_given_up() {
    let mut silent = job(JobState::Running, HEAD);
    let change = lease_lost(&silent, &policy(), 1_000_000);
    assert_eq!(change.transitions[0].to, JobState::Queued);
    silent.attempts = 3;
    let change = lease_lost(&silent, &policy(), 1_000_000);
    assert_eq!(change.transitions[0].to, JobState::Failed);
    assert!(!says_nothing(&change), "whoever asked by a command hears of it");
}

/// As short as a report can be.
fn report(improved: bool) -> crate::report::Report {
    let outcome = if improved { "improved" } else { "no_improvement" };
    let empty = serde_json::json!({
        "schema": 1,
        "run": {"id": "r", "started": "", "kernelbrain": "", "command": "", "seed": 1},
        "target": {"name": "rmsnorm", "source": "", "contract": "", "kind": "native", "entry": ""},
        "device": {"kind": "cuda", "name": "GPU", "torch": "", "triton": ""},
        "outcome": outcome, "reason": "",
        "speedup": {"vs_baseline": null, "vs_eager": null, "vs_compile": null},
        "rungs": [], "cases": [], "candidates": [], "trajectory": [],
        "budget": crate::report::BudgetInfo::default(),
        "audit": {"checked": 0, "passed": []}, "warnings": [], "best": null,
    });
    serde_json::from_value(empty).unwrap()
}

fn outcome(verified: bool) -> KernelOutcome {
    KernelOutcome {
        name: "rmsnorm".into(),
        source: "ops/rmsnorm.py".into(),
        notes: Vec::new(),
        report: Some(Box::new(report(verified))),
        failure: None,
        verified: verified.then(|| "hash".into()),
        baseline: Some("other".into()),
        tests: None,
    }
}

fn measured_job(verified: bool, asked: bool) -> Job {
    let running = job(JobState::Running, HEAD);
    let results = Results { kernels: vec![outcome(verified)] };
    let change = measured(&running, &results, 90, 1_000_000);
    assert_eq!(tasks(&change), [Task::Publish { job: running.new.id.clone() }]);
    let step = &change.transitions[0];
    assert_eq!((step.to, step.spent_seconds), (JobState::Measured, Some(90)));
    let mut order = order_of(&running).unwrap();
    order.asked = asked;
    let new = NewJob { order: serde_json::to_value(order).unwrap(), ..running.new };
    Job { new, state: JobState::Measured, result: step.result.clone().unwrap(), ..running }
}

fn done(key: &str) -> EffectDone {
    EffectDone { key: key.into(), revision: 1, remote: None }
}

/// Plays what follows from each effect; the tasks in order and the job's last step.
fn story(job: &Job, delivered: Delivered) -> (Vec<String>, Option<JobState>) {
    let delivery = Delivery { kernels: vec![delivered] };
    let mut completed = Completed::Published(delivery);
    let mut task = Task::Publish { job: job.new.id.clone() };
    let mut names = Vec::new();
    loop {
        let body = Body { place: place_of(job), task };
        let change = after(&body, done("key"), &completed, Some(job), 1_000_000);
        assert_eq!(change.done, Some(done("key")));
        if let Some(step) = change.transitions.first() {
            return (names, Some(step.to));
        }
        let Some(next) = tasks(&change).into_iter().next() else { return (names, None) };
        names.push(match &next {
            Task::Result { .. } => "comment".to_owned(),
            Task::Check(state) if state.stage.is_over() => "conclusion".to_owned(),
            other => format!("{other:?}"),
        });
        completed = Completed::Done;
        task = next;
    }
}

#[test]
fn what_was_found_is_delivered_then_said_then_concluded_then_reported() {
    let suggestion = Delivered::Suggestion { url: None };
    let (names, last) = story(&measured_job(true, false), suggestion);
    assert_eq!(
        (names, last),
        (vec!["comment".into(), "conclusion".into()], Some(JobState::Reported))
    );
}

#[test]
fn no_gain_is_a_check_run_only_unless_somebody_asked() {
    let (names, last) = story(&measured_job(false, false), Delivered::Nothing);
    assert_eq!((names.len(), last), (1, Some(JobState::Reported)), "{names:?}");
    let (names, _) = story(&measured_job(false, true), Delivered::Nothing);
    assert_eq!(names.first().map(String::as_str), Some("comment"));
}

#[test]
fn a_head_that_moved_while_delivering_ends_the_job_unsaid() {
    let job = measured_job(true, true);
    let body = Body { place: place_of(&job), task: Task::Publish { job: job.new.id.clone() } };
    let change = after(&body, done("k"), &Completed::Stale, Some(&job), 1_000_000);
    assert_eq!(change.transitions[0].to, JobState::Superseded);
    assert!(says_nothing(&change));
}

#[test]
fn what_github_refuses_does_not_hold_up_what_comes_after() {
    let job = measured_job(true, false);
    let body = Body { place: place_of(&job), task: Task::Publish { job: job.new.id.clone() } };
    let change = given_up(&body, "no", Some(&job), 0);
    let Some(Task::Result { delivery, .. }) = tasks(&change).into_iter().next() else { panic!() };
    assert!(matches!(&delivery.kernels[0], Delivered::Patch { instead } if instead.contains("no")));
    let job_id: JobId = job.new.id.clone();
    let body = Body { place: place_of(&job), task: Task::Result { job: job_id, delivery } };
    let conclusion = tasks(&given_up(&body, "no", Some(&job), 0));
    let [Task::Check(state)] = conclusion.as_slice() else { panic!("{conclusion:?}") };
    let body = Body { place: place_of(&job), task: Task::Check(state.clone()) };
    let change = given_up(&body, "no", Some(&job), 0);
    assert_eq!(change.transitions[0].to, JobState::Failed);
}

#[test]
fn a_job_that_is_over_is_not_moved_by_late_effects() {
    let mut job = measured_job(true, false);
    job.state = JobState::Superseded;
    let body = Body { place: place_of(&job), task: Task::Publish { job: job.new.id.clone() } };
    let published = Completed::Published(Delivery { kernels: vec![Delivered::Nothing] });
    let change = after(&body, done("k"), &published, Some(&job), 0);
    assert_eq!(change, Change { done: Some(done("k")), ..Change::default() });
}

#[test]
fn cancelling_ends_what_is_open_and_commit_needs_something_verified() {
    let open = Facts { jobs: vec![job(JobState::Running, HEAD)], ..facts() };
    let cancel = Ok(Command::Cancel);
    let change = converse(&cancel, 9, "ada", &open);
    assert_eq!(change.transitions[0].to, JobState::Cancelled);
    assert!(!says_nothing(&converse(&cancel, 9, "ada", &facts())), "there is nothing to cancel");
    let commit = Ok(Command::Commit);
    let nothing = converse(&commit, 9, "ada", &open);
    assert!(!tasks(&nothing).iter().any(|task| matches!(task, Task::Commit { .. })));
    let verified = Job { state: JobState::Reported, ..measured_job(true, false) };
    let ready = Facts { jobs: vec![verified.clone()], ..facts() };
    let change = converse(&commit, 9, "ada", &ready);
    assert!(tasks(&change).iter().any(|task| matches!(task, Task::Commit { comment: 9, .. })));
    let foreign = Facts { jobs: vec![verified], ..fork() };
    let change = converse(&commit, 9, "ada", &foreign);
    assert!(!tasks(&change).iter().any(|task| matches!(task, Task::Commit { .. })));
}
