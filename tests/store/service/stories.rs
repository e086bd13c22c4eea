//! What the promises are told with.

use kernelbrain::store::service::{
    Applied, Change, EffectDone, Job, JobId, JobState, JobStore, NewEffect, NewJob, PullKey,
    Receipt, Transition,
};
use serde_json::json;

pub(crate) const PULL: PullKey = PullKey { installation: 11, repository: 22, number: 33 };

/// A job of [`PULL`] for any GPU, asked for by a comment of its own.
pub(crate) fn new_job(id: &str) -> NewJob {
    NewJob {
        id: JobId(id.into()),
        pull: PULL,
        repository: "octo/kernels".into(),
        head_sha: "5a".repeat(20),
        base_sha: "0b".repeat(20),
        requested_by: "mona".into(),
        origin: format!("comment:{id}"),
        gpu: String::new(),
        budget_seconds: 1200,
        order: json!({"kernels": ["softmax"], "odd": "\u{0}\u{1f680}", "exact": 0.1 + 0.2}),
    }
}

pub(crate) fn effect(key: &str) -> NewEffect {
    NewEffect {
        key: key.into(),
        installation: PULL.installation,
        priority: 1,
        replaces: true,
        due: 0,
        body: json!({"say": key}),
    }
}

pub(crate) fn receipt(id: &str) -> Receipt {
    Receipt {
        id: id.into(),
        event: "pull_request".into(),
        body: format!("{{\"id\": \"{id}\", \"raw\": \"\u{0}ü\"}}").into_bytes(),
        received: 1000,
    }
}

pub(crate) fn done(key: &str, revision: u64, remote: Option<&str>) -> Change {
    let remote = remote.map(str::to_owned);
    Change { done: Some(EffectDone { key: key.into(), revision, remote }), ..Change::default() }
}

pub(crate) fn owing(effects: impl IntoIterator<Item = NewEffect>) -> Change {
    Change { effects: effects.into_iter().collect(), ..Change::default() }
}

pub(crate) fn dropping(keys: &[&str]) -> Change {
    let dropped_effects = keys.iter().map(|&key| key.to_owned()).collect();
    Change { dropped_effects, ..Change::default() }
}

pub(crate) fn queueing(jobs: impl IntoIterator<Item = NewJob>) -> Change {
    Change { new_jobs: jobs.into_iter().collect(), ..Change::default() }
}

pub(crate) fn step(job: &Job, to: JobState) -> Transition {
    Transition::new(job.new.id.clone(), job.version, to)
}

pub(crate) fn stepping(steps: impl IntoIterator<Item = Transition>) -> Change {
    Change { transitions: steps.into_iter().collect(), ..Change::default() }
}

/// Applies a change that nothing is in the way of.
pub(crate) async fn keep(store: &impl JobStore, change: Change, now: i64) {
    assert_eq!(store.apply(&change, now).await.unwrap(), Applied::Kept, "{change:?}");
}

/// Takes the oldest job that any runner may have.
pub(crate) async fn lease(store: &impl JobStore, runner: &str) -> Job {
    store.lease(runner, &[], 100, 200).await.unwrap().expect("a job is queued")
}

/// The job as it is kept now.
pub(crate) async fn look(store: &impl JobStore, id: &str) -> Job {
    store.job(&JobId(id.into())).await.unwrap().expect("the job is kept")
}

pub(crate) fn ids(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(|job| job.new.id.0.as_str()).collect()
}
