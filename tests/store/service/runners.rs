//! Many runners, each a process of its own as far as the store can tell, and more jobs than runners.

use std::{collections::BTreeMap, sync::Arc};

use kernelbrain::store::{
    RunRecord, RunState,
    service::{Applied, Change, Job, JobState, RunPart, ServiceStore, Transition},
};
use serde_json::json;

use crate::{
    samples::{target, warning},
    service::stories::{effect, keep, look, new_job, queueing, step, stepping},
};

pub(crate) async fn do_every_job_once(stores: Vec<Arc<impl ServiceStore + 'static>>, count: usize) {
    let first = Arc::clone(&stores[0]);
    let jobs = |numbers: std::ops::Range<usize>| {
        queueing(numbers.map(|number| new_job(&format!("job-{number:03}"))))
    };
    // Half of them is there when the runners come, the others arrive while they work.
    keep(&*first, jobs(0..count / 2), 7).await;
    let runners: Vec<_> = stores
        .into_iter()
        .enumerate()
        .map(|(number, store)| tokio::spawn(run(store, format!("gpu-{number}"), count)))
        .collect();
    for number in count / 2..count {
        keep(&*first, jobs(number..number + 1), 7).await;
    }
    let mut done = BTreeMap::new();
    for runner in runners {
        for job in runner.await.unwrap() {
            *done.entry(job).or_insert(0) += 1;
        }
    }
    assert_eq!(done.len(), count);
    assert!(done.values().all(|times| *times == 1), "done more than once: {done:?}");
    let at_most = u32::try_from(count).unwrap() + 1;
    let ended = first.jobs_in(&[JobState::Reported], at_most).await.unwrap();
    assert_eq!(ended.len(), count);
    for job in ended {
        assert_eq!((job.attempts, job.version), (1, 5), "{job:?}");
        let run = first.copied_run(&job.new.id, "softmax").await.unwrap().unwrap();
        assert_eq!(run.events, [warning(&job.new.id.0)]);
        assert_eq!(job.result["by"], job.lease.unwrap().runner);
    }
    assert_eq!(first.owed().await.unwrap(), u64::try_from(count).unwrap());
}

/// Takes jobs until all are taken by somebody; those that this runner did.
async fn run(store: Arc<impl ServiceStore>, name: String, count: usize) -> Vec<String> {
    let mut done = Vec::new();
    loop {
        match store.lease(&name, &["h200".into()], 100, 200).await.unwrap() {
            Some(job) => {
                work(&*store, &job).await;
                done.push(job.new.id.0);
            }
            None => {
                let taken = store.jobs_in(&JobState::ALL, u32::MAX).await.unwrap();
                if taken.len() == count && taken.iter().all(|job| job.state != JobState::Queued) {
                    return done;
                }
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        }
    }
}

/// A short job from lease to report.
async fn work(store: &impl ServiceStore, job: &Job) {
    let (id, lease) = (&job.new.id, job.lease.as_ref().unwrap());
    keep(store, stepping([step(job, JobState::Running)]), 110).await;
    let progress = json!({"by": lease.runner});
    assert!(store.heartbeat(id, lease.fence, 300, Some(&progress), 120).await.unwrap());
    let record = RunRecord {
        id: id.0.clone(),
        key: String::new(),
        output: "/tmp/out".into(),
        target: target(),
        plan: json!(null),
        environment: None,
        created: std::time::SystemTime::UNIX_EPOCH,
        state: RunState::Ended,
        outcome: None,
    };
    let events = [warning(&id.0)];
    let part = RunPart { record: &record, root: "/srv", after: 0, events: &events };
    assert!(store.copy_run(id, lease.fence, "softmax", part, 130).await.unwrap());
    let job = look(store, &id.0).await;
    let measured = Transition { result: Some(progress), ..step(&job, JobState::Measured) };
    let reported = Transition { version: job.version + 1, ..step(&job, JobState::Reported) };
    let change = Change {
        effects: vec![effect(&format!("comment:{id}"))],
        ..stepping([measured, reported])
    };
    assert_eq!(store.apply(&change, 140).await.unwrap(), Applied::Kept);
    assert!(!store.heartbeat(id, lease.fence, 400, None, 150).await.unwrap(), "it is over");
}
