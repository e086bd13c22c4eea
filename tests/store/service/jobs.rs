//! Promises about jobs and changes.

use std::{collections::BTreeMap, sync::Arc};

use kernelbrain::store::{
    StoreError,
    service::{
        Applied, Change, DeliveryState, Job, JobId, JobState, JobStore, PullKey, ServiceStore,
        Spent, SpentOn, Transition,
    },
};
use serde_json::{Value, json};

use crate::service::stories::{
    PULL, done, effect, ids, keep, lease, look, new_job, owing, queueing, receipt, step, stepping,
};

pub(crate) async fn read_back_as_they_were_queued(store: &impl JobStore) {
    keep(store, queueing([new_job("one")]), 7).await;
    let expected = Job {
        new: new_job("one"),
        state: JobState::Queued,
        version: 1,
        lease: None,
        attempts: 0,
        spent_seconds: None,
        progress: Value::Null,
        result: Value::Null,
        reason: String::new(),
        created: 7,
        updated: 7,
    };
    assert_eq!(look(store, "one").await, expected);
    assert_eq!(store.job(&JobId("other".into())).await.unwrap(), None);
}

pub(crate) async fn go_from_state_to_state(store: &impl JobStore) {
    keep(store, queueing([new_job("one")]), 7).await;
    let job = lease(store, "gpu-1").await;
    assert_eq!((job.state, job.version), (JobState::Leased, 2));
    let running = Transition {
        progress: Some(json!({"rung": 0, "odd": "\u{0}"})),
        ..step(&job, JobState::Running)
    };
    keep(store, stepping([running]), 110).await;

    let job = look(store, "one").await;
    assert_eq!((job.state, job.version, job.updated), (JobState::Running, 3, 110));
    let more = Transition { progress: Some(json!({"rung": 1})), ..step(&job, JobState::Running) };
    keep(store, stepping([more]), 120).await;

    let job = look(store, "one").await;
    let measured = Transition {
        result: Some(json!({"speedup": 1.0 / 3.0})),
        reason: Some("it was said: \u{0}".into()),
        spent_seconds: Some(95),
        ..step(&job, JobState::Measured)
    };
    keep(store, stepping([measured]), 130).await;
    let job = look(store, "one").await;
    keep(store, stepping([step(&job, JobState::Reported)]), 140).await;

    let job = look(store, "one").await;
    assert_eq!((job.state, job.version, job.created), (JobState::Reported, 6, 7));
    assert_eq!(job.progress, json!({"rung": 1}), "what is not given stays");
    assert_eq!(job.result, json!({"speedup": 1.0 / 3.0}));
    assert_eq!(job.spent_seconds, Some(95));
    assert!(job.reason.starts_with("it was said: "), "{}", job.reason);
}

pub(crate) async fn come_to_a_runner_by_a_lease_only(store: &impl JobStore) {
    keep(store, queueing([new_job("one")]), 7).await;
    let job = look(store, "one").await;
    for to in [JobState::Leased, JobState::Running] {
        let error = store.apply(&stepping([step(&job, to)]), 8).await.unwrap_err();
        assert!(matches!(error, StoreError::NotLeased { .. }), "{error}");
        assert!(error.to_string().contains("one cannot go from queued to"), "{error}");
    }
    assert_eq!(look(store, "one").await, job);
    let job = lease(store, "gpu-1").await;
    keep(store, stepping([step(&job, JobState::Running)]), 110).await;
    let job = look(store, "one").await;
    let back = store.apply(&stepping([step(&job, JobState::Leased)]), 120).await;
    assert!(back.is_err(), "a runner has a job that runs: {back:?}");
}

pub(crate) async fn keep_all_of_a_change_or_nothing(store: &impl ServiceStore) {
    store.receive(&[receipt("delivery")]).await.unwrap();
    keep(store, queueing(["one", "two"].map(new_job)), 7).await;
    keep(store, owing([effect("kept")]), 7).await;
    let (one, two) = (look(store, "one").await, look(store, "two").await);
    let change = |two: Transition| Change {
        delivery: Some("delivery".into()),
        new_jobs: vec![new_job("three")],
        transitions: vec![step(&one, JobState::Superseded), two],
        effects: vec![effect("comment")],
        dropped_effects: vec!["kept".into()],
        ..Change::default()
    };
    let outdated = Transition { version: 2, ..step(&two, JobState::Cancelled) };
    let unknown = Transition { job: JobId("nobody's".into()), ..step(&two, JobState::Cancelled) };
    for conflict in [outdated, unknown] {
        assert_eq!(store.apply(&change(conflict), 8).await.unwrap(), Applied::Conflict);
        assert_eq!(look(store, "one").await, one);
        assert_eq!(store.job(&JobId("three".into())).await.unwrap(), None);
        let state = store.delivery_state("delivery").await.unwrap();
        assert_eq!(state, Some(DeliveryState::Received));
        assert_eq!(store.effect("comment").await.unwrap(), None);
        assert_eq!(store.owed().await.unwrap(), 1);
    }
    keep(store, change(step(&two, JobState::Cancelled)), 9).await;
    assert_eq!(look(store, "one").await.state, JobState::Superseded);
    assert_eq!(look(store, "two").await.state, JobState::Cancelled);
    assert_eq!(look(store, "three").await.state, JobState::Queued);
    assert_eq!(store.delivery_state("delivery").await.unwrap(), Some(DeliveryState::Done));
    let due = store.effects_due(PULL.installation, 9, 10).await.unwrap();
    assert_eq!(due.iter().map(|it| it.new.key.as_str()).collect::<Vec<_>>(), ["comment"]);
}

pub(crate) async fn of_one_origin_are_queued_once(store: &impl ServiceStore) {
    store.receive(&[receipt("first"), receipt("again")]).await.unwrap();
    keep(store, queueing([new_job("one")]), 7).await;
    keep(store, owing([effect("announce")]), 7).await;
    let before = look(store, "one").await;
    let mut twin = new_job("twin");
    twin.origin = before.new.origin.clone();
    let again = Change {
        delivery: Some("again".into()),
        new_jobs: vec![new_job("beside"), twin],
        transitions: vec![step(&before, JobState::Superseded)],
        effects: vec![effect("comment")],
        ..done("announce", 1, Some("remote"))
    };
    assert_eq!(store.apply(&again, 8).await.unwrap(), Applied::Duplicate);
    assert_eq!(look(store, "one").await, before, "it does not supersede itself");
    for id in ["twin", "beside"] {
        assert_eq!(store.job(&JobId(id.into())).await.unwrap(), None);
    }
    assert_eq!(store.effect("comment").await.unwrap(), None);
    assert_eq!(store.delivery_state("again").await.unwrap(), Some(DeliveryState::Done));
    assert_eq!(store.owed().await.unwrap(), 0, "what was performed was performed");
}

pub(crate) async fn decided_upon_by_many_change_once(
    stores: Vec<Arc<impl ServiceStore + 'static>>,
) {
    keep(&*stores[0], queueing([new_job("one")]), 7).await;
    let job = look(&*stores[0], "one").await;
    let outcomes = at_once(&stores, |task| Change {
        effects: vec![effect(&format!("comment {task}"))],
        ..stepping([step(&job, JobState::Cancelled)])
    })
    .await;
    assert_eq!(outcomes.iter().filter(|it| **it == Applied::Kept).count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|it| **it == Applied::Conflict).count(), 7, "{outcomes:?}");
    assert_eq!(look(&*stores[0], "one").await.version, 2);
    assert_eq!(stores[0].owed().await.unwrap(), 1);
}

pub(crate) async fn asked_for_by_many_are_queued_once(
    stores: Vec<Arc<impl ServiceStore + 'static>>,
) {
    let outcomes = at_once(&stores, |task| {
        let mut job = new_job(&format!("job-{task}"));
        job.origin = "label:delivery".into();
        queueing([job])
    })
    .await;
    assert_eq!(outcomes.iter().filter(|it| **it == Applied::Kept).count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|it| **it == Applied::Duplicate).count(), 7, "{outcomes:?}");
    assert_eq!(stores[0].jobs_of(PULL).await.unwrap().len(), 1);
}

/// Eight callers at the same moment.
async fn at_once(
    stores: &[Arc<impl ServiceStore + 'static>],
    change: impl Fn(usize) -> Change,
) -> Vec<Applied> {
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (store, change) = (Arc::clone(&stores[task % stores.len()]), change(task));
            tokio::spawn(async move { store.apply(&change, 8).await.unwrap() })
        })
        .collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}

/// Each takes in one order what another takes in the other, so that each may have what the other waits
/// for.
pub(crate) async fn locked_crosswise_do_not_fail(stores: Vec<Arc<impl ServiceStore + 'static>>) {
    keep(&*stores[0], queueing(["one", "two"].map(new_job)), 7).await;
    let tasks: Vec<_> = [["one", "two"], ["two", "one"], ["one", "two"], ["two", "one"]]
        .into_iter()
        .enumerate()
        .map(|(task, order)| {
            let store = Arc::clone(&stores[task % stores.len()]);
            tokio::spawn(async move {
                let mut kept = 0;
                while kept < 10 {
                    let jobs = [look(&*store, order[0]).await, look(&*store, order[1]).await];
                    let change = stepping(jobs.iter().map(|job| step(job, JobState::Queued)));
                    match store.apply(&change, 8).await.unwrap() {
                        Applied::Kept => kept += 1,
                        Applied::Conflict => {}
                        Applied::Duplicate => panic!("no job is new"),
                    }
                    keep(&*store, owing(order.map(effect)), 8).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for id in ["one", "two"] {
        assert_eq!(look(&*stores[0], id).await.version, 41);
        let effect = stores[0].effect(id).await.unwrap().unwrap();
        assert!(effect.revision >= 40, "one for each time: {}", effect.revision);
    }
}

pub(crate) async fn are_found_by_pull_request_and_state(store: &impl JobStore) {
    let elsewhere = PullKey { number: 34, ..PULL };
    let mut other = new_job("other");
    other.pull = elsewhere;
    keep(store, queueing([new_job("one"), new_job("two"), other, new_job("three")]), 7).await;
    assert_eq!(ids(&store.jobs_of(PULL).await.unwrap()), ["three", "two", "one"]);
    assert_eq!(ids(&store.jobs_of(elsewhere).await.unwrap()), ["other"]);
    let nobodys = PullKey { installation: 12, ..PULL };
    assert_eq!(store.jobs_of(nobodys).await.unwrap(), []);

    lease(store, "gpu-1").await;
    let two = look(store, "two").await;
    keep(store, stepping([step(&two, JobState::Cancelled)]), 8).await;
    let waiting = store.jobs_in(&[JobState::Queued], 10).await.unwrap();
    assert_eq!(ids(&waiting), ["other", "three"]);
    let some = store.jobs_in(&[JobState::Cancelled, JobState::Leased], 10).await.unwrap();
    assert_eq!(ids(&some), ["one", "two"]);
    assert_eq!(ids(&store.jobs_in(&JobState::ALL, 3).await.unwrap()), ["one", "two", "other"]);
    assert_eq!(store.jobs_in(&[], 10).await.unwrap(), []);
}

pub(crate) async fn count_against_budgets(store: &impl JobStore) {
    let job = |id: &str, who: &str, number, seconds| {
        let mut job = new_job(id);
        job.requested_by = who.into();
        job.pull.number = number;
        job.budget_seconds = seconds;
        job
    };
    let mut foreign = job("foreign", "mona", 33, 10_000);
    foreign.pull.installation = 12;
    keep(store, queueing([job("old", "mona", 33, 5000)]), 50).await;
    keep(store, queueing([job("held", "mona", 33, 100), job("spent", "hubot", 33, 200)]), 60).await;
    keep(store, queueing([job("failed", "mona", 34, 400), foreign]), 70).await;
    let mona = SpentOn::User { installation: 11, login: "mona".into() };
    let all = SpentOn::Installation(11);
    let ask = async |on: &SpentOn, since| {
        let Spent { seconds, jobs } = store.spent(on, since).await.unwrap();
        (seconds, jobs)
    };
    assert_eq!(ask(&SpentOn::Pull(PULL), 60).await, (300, 2));
    assert_eq!(ask(&mona, 60).await, (500, 2));
    assert_eq!(ask(&all, 60).await, (700, 3), "all that is granted");
    assert_eq!(ask(&all, 0).await, (5700, 4));
    assert_eq!(ask(&all, 71).await, (0, 0));

    for id in ["old", "held"] {
        assert_eq!(lease(store, "gpu-1").await.new.id.0, id);
    }
    let spent = look(store, "spent").await;
    let spent = Transition { spent_seconds: Some(42), ..step(&spent, JobState::Failed) };
    let failed = look(store, "failed").await;
    keep(store, stepping([spent, step(&failed, JobState::Failed)]), 80).await;
    assert_eq!(ask(&all, 60).await, (142, 3), "what was spent, where that is known by now");
    let counted: BTreeMap<_, _> = store
        .count_jobs()
        .await
        .unwrap()
        .into_iter()
        .map(|(state, count)| (state.name(), count))
        .collect();
    assert_eq!(counted.get("failed"), Some(&2));
    assert_eq!(counted.get("reported"), None);
    assert_eq!(ask(&mona, 60).await, (100, 2), "nothing was, where it never ran");
}
