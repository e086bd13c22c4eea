//! Promises about copies of runs.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use kernelbrain::{
    kernel::Outcome,
    search::Event,
    store::{
        RunRecord, RunState, StoreError,
        service::{JobId, JobState, KeptRun, RunPart, ServiceStore},
    },
};

use crate::{
    samples::{SOURCE, added, environment, one_of_each, target, warning},
    service::stories::{keep, lease, look, new_job, queueing, step, stepping},
};

fn record(id: &str) -> RunRecord {
    RunRecord {
        id: id.into(),
        key: "key".into(),
        output: PathBuf::from("/tmp/out ü"),
        target: target(),
        plan: serde_json::json!({"seed": 7, "rungs": [{"keep": 1.0 / 3.0}]}),
        environment: None,
        created: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_959_901_250),
        state: RunState::Open,
        outcome: None,
    }
}

fn part<'a>(record: &'a RunRecord, after: u64, events: &'a [Event]) -> RunPart<'a> {
    RunPart { record, root: "/srv/jobs/one", after, events }
}

/// A job in the hands of a runner, with fence 1.
async fn held(store: &impl ServiceStore, id: &str) -> JobId {
    keep(store, queueing([new_job(id)]), 7).await;
    lease(store, "gpu-1").await.new.id
}

pub(crate) async fn reads_back_every_kind_of_event(store: &impl ServiceStore) {
    let job = held(store, "one").await;
    assert_eq!(store.copied_run(&job, "softmax").await.unwrap(), None);
    let open = record("run");
    let events = one_of_each();
    assert!(store.copy_run(&job, 1, "softmax", part(&open, 0, &events[..5]), 110).await.unwrap());
    let ended = RunRecord {
        environment: Some(environment()),
        state: RunState::Ended,
        outcome: Some(Outcome::NoImprovement { reason: "a\0b".into() }),
        ..open
    };
    assert!(store.copy_run(&job, 1, "softmax", part(&ended, 5, &events[5..]), 120).await.unwrap());
    let expected = KeptRun { record: ended, root: "/srv/jobs/one".into(), events };
    assert_eq!(store.copied_run(&job, "softmax").await.unwrap(), Some(expected));
    assert_eq!(store.copied_run(&job, "layernorm").await.unwrap(), None);
}

pub(crate) async fn grows_without_doubles_and_gaps(store: &impl ServiceStore) {
    let (job, other) = (held(store, "one").await, held(store, "two").await);
    let record = record("run");
    let copy = async |job: &JobId, after, events: &[Event]| {
        store.copy_run(job, 1, "softmax", part(&record, after, events), 110).await
    };
    let said: Vec<_> = (0..6).map(|number| warning(&format!("{number}"))).collect();
    let kept = async |job: &JobId| store.copied_run(job, "softmax").await.unwrap().unwrap().events;
    copy(&job, 0, &said[..3]).await.unwrap();
    copy(&job, 0, &said[..3]).await.unwrap();
    assert_eq!(kept(&job).await, said[..3], "the answer to the first was lost");
    copy(&job, 1, &said[1..5]).await.unwrap();
    assert_eq!(kept(&job).await, said[..5]);
    copy(&job, 5, &[]).await.unwrap();
    let error = copy(&job, 6, &said[..1]).await.unwrap_err();
    assert!(matches!(error, StoreError::JournalGap { kept: 5, after: 6, .. }), "{error}");
    let nonsense = [said[5].clone(), Event::Ticked { wall_seconds: f64::NAN }];
    let error = copy(&job, 5, &nonsense).await.unwrap_err();
    assert!(matches!(error, StoreError::Unfaithful { .. }), "{error}");
    assert_eq!(kept(&job).await, said[..5], "all or nothing");

    // The same candidate in both: its source is kept once and belongs to each.
    copy(&job, 5, &[added(SOURCE), added("π\0\r\n")]).await.unwrap();
    copy(&other, 0, &[added(SOURCE)]).await.unwrap();
    assert_eq!(kept(&job).await[5..], [added(SOURCE), added("π\0\r\n")]);
    assert_eq!(kept(&other).await, [added(SOURCE)]);
}

pub(crate) async fn is_written_by_the_holder_of_the_lease_only(store: &impl ServiceStore) {
    let job = held(store, "one").await;
    let record = record("run");
    let events = [warning("said")];
    let copy = async |fence| {
        store.copy_run(&job, fence, "softmax", part(&record, 0, &events), 110).await.unwrap()
    };
    assert!(!copy(0).await && !copy(2).await);
    assert_eq!(store.copied_run(&job, "softmax").await.unwrap(), None);
    assert!(copy(1).await);
    keep(store, stepping([step(&look(store, "one").await, JobState::Queued)]), 120).await;
    assert!(!copy(1).await, "nobody has it");
    lease(store, "gpu-2").await;
    assert!(!copy(1).await, "another runner has it");
    assert!(copy(2).await, "which goes on from the copy");
    keep(store, stepping([step(&look(store, "one").await, JobState::Cancelled)]), 130).await;
    assert!(!copy(2).await);
    let nobodys = JobId("nobody's".into());
    let copied = store.copy_run(&nobodys, 0, "softmax", part(&record, 0, &events), 110).await;
    assert!(!copied.unwrap());
}

pub(crate) async fn of_another_run_takes_the_place_of_the_first(store: &impl ServiceStore) {
    let job = held(store, "one").await;
    let (first, second) = (record("first"), record("second"));
    let long = [warning("1"), warning("2"), warning("3")];
    store.copy_run(&job, 1, "softmax", part(&first, 0, &long), 110).await.unwrap();
    store.copy_run(&job, 1, "layernorm", part(&first, 0, &long), 110).await.unwrap();
    let error = store.copy_run(&job, 1, "softmax", part(&second, 2, &long), 120).await.unwrap_err();
    assert!(matches!(error, StoreError::JournalGap { kept: 0, after: 2, .. }), "{error}");

    let anew = [warning("anew")];
    store.copy_run(&job, 1, "softmax", part(&second, 0, &anew), 130).await.unwrap();
    let kept = store.copied_run(&job, "softmax").await.unwrap().unwrap();
    assert_eq!((kept.record, kept.events.as_slice()), (second, anew.as_slice()));
    let beside = store.copied_run(&job, "layernorm").await.unwrap().unwrap();
    assert_eq!((beside.record, beside.events.as_slice()), (first, long.as_slice()));
}

pub(crate) async fn keeps_any_text_by_its_hash(store: &impl ServiceStore) {
    let long = "x = 1  # ten megabytes of this\n".repeat(350_000);
    for text in ["", "\0", "a\0b\r\nc\rd", "π = 3 # \u{1f525} \u{202e}", &long] {
        let hash = store.keep_text(text).await.unwrap();
        assert_eq!(store.keep_text(text).await.unwrap(), hash);
        assert!(store.text(&hash).await.unwrap().as_deref() == Some(text), "{hash} changed");
    }
    // `printf abc | sha256sum`
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(store.text(abc).await.unwrap(), None);
    assert_eq!(store.keep_text("abc").await.unwrap(), abc);
}
