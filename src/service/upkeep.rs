//! What time brings: leases that run out, progress to show, deliveries that GitHub could not make.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use super::{
    clock::Clock,
    decide::{self, Policy},
};
use crate::{
    github::{GitHub, GitHubError},
    store::{
        StoreError,
        service::{Change, Job, JobId, JobState, Millis, ServiceStore},
    },
};

/// Jobs that are looked at in one go.
const AT_A_TIME: u32 = 200;

/// Looks after jobs while nobody says anything.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports are trait objects")]
pub struct Upkeep {
    pub(super) store: Arc<dyn ServiceStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) policy: Arc<Policy>,
    /// What was shown of a job last, and when; a restart shows once too often.
    shown: Arc<Mutex<HashMap<JobId, (Millis, Value)>>>,
}

impl Upkeep {
    pub fn new(store: Arc<dyn ServiceStore>, clock: Arc<dyn Clock>, policy: Policy) -> Self {
        Self { store, clock, policy: Arc::new(policy), shown: Arc::default() }
    }

    /// Jobs whose runner fell silent go back to the queue, and the others' progress is shown.
    pub async fn step(&self) -> Result<(), StoreError> {
        for job in self.store.lost_leases(self.clock.now()).await? {
            let now = self.clock.now();
            // A conflict: it was heard of again, or somebody else looked after it.
            self.store.apply(&decide::lease_lost(&job, &self.policy, now), now).await?;
        }
        let running = self.store.jobs_in(&[JobState::Running], AT_A_TIME).await?;
        for job in &running {
            if let Some(change) = self.news(job) {
                self.store.apply(&change, self.clock.now()).await?;
            }
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.retain(|id, _| running.iter().any(|job| job.new.id == *id));
        Ok(())
    }

    fn news(&self, job: &Job) -> Option<Change> {
        if job.progress.is_null() {
            return None;
        }
        let now = self.clock.now();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let due = match shown.get(&job.new.id) {
            Some((when, what)) => now - when >= self.policy.progress_every && *what != job.progress,
            None => true,
        };
        if !due {
            return None;
        }
        shown.insert(job.new.id.clone(), (now, job.progress.clone()));
        let progress = serde_json::from_value(job.progress.clone()).ok()?;
        Some(decide::progressed(job, &progress, now))
    }
}

/// Asks GitHub to deliver again what it could not deliver in the time before `now`; how many. GitHub never
/// does so by itself.
pub async fn recover_deliveries(
    github: &GitHub,
    now: SystemTime,
    back: Duration,
) -> Result<usize, GitHubError> {
    let failed = github.failed_deliveries(now.checked_sub(back).unwrap_or(now)).await?;
    let mut asked = 0;
    for delivery in &failed {
        match github.redeliver(delivery.id).await {
            Ok(()) => asked += 1,
            Err(error @ GitHubError::RateLimited { .. }) => return Err(error),
            // One that cannot be had does not hold up the others.
            Err(error) => tracing::warn!(delivery = delivery.guid, %error, "not delivered again"),
        }
    }
    Ok(asked)
}
