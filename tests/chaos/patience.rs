//! Trouble that passes costs nothing but time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use kernelbrain::{
    search::Stop,
    service::runner::{Grant, GrantError, Grants, LocalGrants},
    store::service::{DeliveryState, Job, JobState},
};

use crate::{crash::Chain, mock::Fault};

const LONG: Duration = Duration::from_secs(60);

/// Whoever approved it did so once; GitHub has the delivery as arrived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_outlives_a_token_that_github_does_not_accept() {
    let chain = Chain::new(0, false).await;
    // As often as a new token may be unknown before it counts as refused.
    chain.github.fail(3, "GET", "/repos/acme/kernels/pulls/1", Fault::Status(401));
    let deliveries = chain.label().await;
    let (service, begun) = (chain.service(), Instant::now());
    while chain.store.jobs_in(&[JobState::Queued], 1).await.unwrap().is_empty() {
        service.intake.step().await.unwrap();
        for id in &deliveries {
            let state = chain.store.delivery_state(id).await.unwrap();
            assert_ne!(state, Some(DeliveryState::Failed), "given up");
        }
        assert!(begun.elapsed() < LONG, "nothing is queued");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Beside a service that is being updated.
struct AwayAtFirst {
    grants: LocalGrants,
    refusals: AtomicU32,
}

#[async_trait]
impl Grants for AwayAtFirst {
    async fn grant(&self, job: &Job, fence: u64) -> Result<Grant, GrantError> {
        let left = self.refusals.load(Ordering::SeqCst);
        if left > 0 {
            self.refusals.store(left - 1, Ordering::SeqCst);
            return Err(GrantError("the service does not answer".to_owned()));
        }
        self.grants.grant(job, fence).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_keeps_its_job_while_the_service_is_away() {
    let chain = Chain::new(0, false).await;
    // And the first token that there is at last is not known everywhere yet.
    chain.github.fail(1, "GET", "/acme/kernels.git/info/refs", Fault::Status(401));
    chain.label().await;
    chain.service().intake.step().await.unwrap();
    let grants = LocalGrants(chain.client());
    let runner = chain.runner(Arc::new(AwayAtFirst { grants, refusals: AtomicU32::new(3) }));
    let (switch, stop) = Stop::new();
    let running = tokio::spawn(async move { runner.run(stop).await });
    let begun = Instant::now();
    let measured = loop {
        assert!(begun.elapsed() < LONG, "nothing is measured");
        let jobs = chain.store.jobs_in(&[JobState::Measured], 1).await.unwrap();
        if let Some(job) = jobs.into_iter().next() {
            break job;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    switch.stop();
    running.await.unwrap();
    assert_eq!(measured.attempts, 1);
}
