//! Promises about rights that run out.

use kernelbrain::store::service::{JobState, JobStore, Lease, ServiceStore};
use serde_json::json;

use crate::service::stories::{ids, keep, lease, look, new_job, queueing, step, stepping};

pub(crate) async fn go_to_the_oldest_job_that_fits(store: &impl JobStore) {
    let job = |id: &str, gpu: &str| {
        let mut job = new_job(id);
        job.gpu = gpu.into();
        job
    };
    let jobs = [job("h200", "h200"), job("any", ""), job("b200", "b200"), job("h200-2", "h200")];
    keep(store, queueing(jobs), 7).await;
    let take = async |labels: &[&str]| {
        let labels: Vec<_> = labels.iter().map(|&label| label.to_owned()).collect();
        let job = store.lease("gpu-1", &labels, 100, 200).await.unwrap();
        job.map(|job| job.new.id.0)
    };
    assert_eq!(take(&["a100"]).await.as_deref(), Some("any"));
    assert_eq!(take(&["a100"]).await, None);
    assert_eq!(take(&[]).await, None);
    assert_eq!(take(&["b200", "h200"]).await.as_deref(), Some("h200"));
    assert_eq!(take(&["h200"]).await.as_deref(), Some("h200-2"));
    assert_eq!(take(&["b200", "h200"]).await.as_deref(), Some("b200"));
    let held = look(store, "b200").await;
    assert_eq!(held.lease, Some(Lease { runner: "gpu-1".into(), fence: 1, until: 200 }));
    assert_eq!((held.state, held.version, held.attempts), (JobState::Leased, 2, 1));
    assert_eq!(held.updated, 100);
}

pub(crate) async fn are_prolonged_until_they_are_lost(store: &impl ServiceStore) {
    keep(store, queueing([new_job("one")]), 7).await;
    let first = lease(store, "gpu-1").await;
    let id = &first.new.id;
    let beat = async |fence, until, progress: Option<&serde_json::Value>| {
        store.heartbeat(id, fence, until, progress, 150).await.unwrap()
    };
    assert!(beat(1, 300, Some(&json!({"rung": 1}))).await);
    assert!(beat(1, 400, None).await);
    let held = look(store, "one").await;
    assert_eq!(held.lease.unwrap().until, 400);
    assert_eq!((held.progress, held.version), (json!({"rung": 1}), 2), "no transition");

    assert_eq!(store.lost_leases(400).await.unwrap(), []);
    let lost = store.lost_leases(401).await.unwrap();
    assert_eq!(ids(&lost), ["one"]);
    keep(store, stepping([step(&lost[0], JobState::Queued)]), 410).await;
    assert!(!beat(1, 500, None).await, "it waits for another runner");
    assert_eq!(store.lost_leases(9000).await.unwrap(), []);

    let second = lease(store, "gpu-2").await;
    let now = Lease { runner: "gpu-2".into(), fence: 2, until: 200 };
    assert_eq!((second.lease, second.attempts), (Some(now.clone()), 2));
    assert!(!beat(1, 500, Some(&json!("from the past"))).await, "another runner has it");
    assert!(!beat(3, 500, None).await);
    let held = look(store, "one").await;
    assert_eq!((held.lease, held.progress), (Some(now), json!({"rung": 1})));
    assert!(beat(2, 500, None).await);
}

pub(crate) async fn end_with_any_step_out_of_the_runners_hands(store: &impl ServiceStore) {
    let ends = [JobState::Queued, JobState::Measured, JobState::Failed, JobState::Cancelled];
    for (number, to) in ends.into_iter().enumerate() {
        let id = format!("job-{number}");
        keep(store, queueing([new_job(&id)]), 7).await;
        let mut job = lease(store, "gpu-1").await;
        assert_eq!(job.new.id.0, id);
        if number % 2 == 1 {
            keep(store, stepping([step(&job, JobState::Running)]), 110).await;
            job = look(store, &id).await;
        }
        let beat = async || store.heartbeat(&job.new.id, 1, 300, None, 120).await.unwrap();
        assert!(beat().await);
        keep(store, stepping([step(&job, to)]), 130).await;
        assert!(!beat().await, "{to:?}");
        // Nothing may be queued when the next one is leased.
        if to == JobState::Queued {
            let job = look(store, &id).await;
            keep(store, stepping([step(&job, JobState::Superseded)]), 140).await;
        }
    }
}

pub(crate) async fn of_a_name_belong_to_one(store: &impl JobStore) {
    let lead = async |owner: &str, name: &str, now, until| {
        store.lead(name, owner, now, until).await.unwrap()
    };
    assert!(lead("a", "dispatch", 100, 200).await);
    assert!(!lead("b", "dispatch", 150, 250).await);
    assert!(lead("b", "sweep", 150, 250).await, "another right");
    assert!(lead("a", "dispatch", 180, 300).await, "prolonged");
    assert!(!lead("b", "dispatch", 299, 400).await);
    assert!(lead("b", "dispatch", 300, 400).await, "it ran out");
    assert!(!lead("a", "dispatch", 301, 400).await);
    assert!(lead("b", "dispatch", 310, 310).await, "given back");
    assert!(lead("a", "dispatch", 310, 400).await);
}
