//! A database whose connection breaks at a chosen change.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use kernelbrain::store::{
    StoreError,
    service::{
        Applied, Change, Delivery, DeliveryState, DeliveryStore, Effect, EffectStore, Inserted,
        Job, JobId, JobState, JobStore, JournalStore, KeptRun, Millis, PullKey, Receipt, RunPart,
        ServiceStore, Spent, SpentOn,
    },
};
use serde_json::Value;

/// Everything works but one change: its answer is an error.
pub(crate) struct FlakyStore {
    inner: Arc<dyn ServiceStore>,
    /// Changes up to and with the one that fails.
    left: AtomicI64,
    /// Whether that change was kept all the same, and only the answer lost.
    keeps: bool,
}

impl FlakyStore {
    pub(crate) fn failing_at(inner: Arc<dyn ServiceStore>, change: i64, keeps: bool) -> Self {
        Self { inner, left: AtomicI64::new(change), keeps }
    }

    /// Whether the change that fails has come.
    pub(crate) fn has_failed(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 1
    }
}

#[async_trait]
impl DeliveryStore for FlakyStore {
    async fn receive(&self, receipts: &[Receipt]) -> Result<Vec<Inserted>, StoreError> {
        self.inner.receive(receipts).await
    }

    async fn deliveries_due(&self, now: Millis, at_most: u32) -> Result<Vec<Delivery>, StoreError> {
        self.inner.deliveries_due(now, at_most).await
    }

    async fn deliveries_done(&self, ids: &[&str], now: Millis) -> Result<(), StoreError> {
        self.inner.deliveries_done(ids, now).await
    }

    async fn postpone_delivery(
        &self,
        id: &str,
        due: Option<Millis>,
        error: &str,
    ) -> Result<(), StoreError> {
        self.inner.postpone_delivery(id, due, error).await
    }

    async fn delivery_state(&self, id: &str) -> Result<Option<DeliveryState>, StoreError> {
        self.inner.delivery_state(id).await
    }

    async fn forget_deliveries(&self, before: Millis) -> Result<u64, StoreError> {
        self.inner.forget_deliveries(before).await
    }
}

#[async_trait]
impl JobStore for FlakyStore {
    async fn apply(&self, change: &Change, now: Millis) -> Result<Applied, StoreError> {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        if left != 1 {
            return self.inner.apply(change, now).await;
        }
        if self.keeps {
            self.inner.apply(change, now).await?;
        }
        let (database, detail) = ("the test's".to_owned(), "the connection broke".to_owned());
        Err(StoreError::Unreachable { database, detail })
    }

    async fn job(&self, id: &JobId) -> Result<Option<Job>, StoreError> {
        self.inner.job(id).await
    }

    async fn jobs_of(&self, pull: PullKey) -> Result<Vec<Job>, StoreError> {
        self.inner.jobs_of(pull).await
    }

    async fn jobs_in(&self, states: &[JobState], at_most: u32) -> Result<Vec<Job>, StoreError> {
        self.inner.jobs_in(states, at_most).await
    }

    async fn lease(
        &self,
        runner: &str,
        labels: &[String],
        now: Millis,
        until: Millis,
    ) -> Result<Option<Job>, StoreError> {
        self.inner.lease(runner, labels, now, until).await
    }

    async fn heartbeat(
        &self,
        id: &JobId,
        fence: u64,
        until: Millis,
        progress: Option<&Value>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        self.inner.heartbeat(id, fence, until, progress, now).await
    }

    async fn lost_leases(&self, now: Millis) -> Result<Vec<Job>, StoreError> {
        self.inner.lost_leases(now).await
    }

    async fn count_jobs(&self) -> Result<Vec<(JobState, u64)>, StoreError> {
        self.inner.count_jobs().await
    }

    async fn spent(&self, on: &SpentOn, since: Millis) -> Result<Spent, StoreError> {
        self.inner.spent(on, since).await
    }

    async fn lead(
        &self,
        name: &str,
        owner: &str,
        now: Millis,
        until: Millis,
    ) -> Result<bool, StoreError> {
        self.inner.lead(name, owner, now, until).await
    }
}

#[async_trait]
impl EffectStore for FlakyStore {
    async fn effects_due(
        &self,
        installation: u64,
        now: Millis,
        at_most: u32,
    ) -> Result<Vec<Effect>, StoreError> {
        self.inner.effects_due(installation, now, at_most).await
    }

    async fn installations_owed(&self, now: Millis) -> Result<Vec<u64>, StoreError> {
        self.inner.installations_owed(now).await
    }

    async fn effect(&self, key: &str) -> Result<Option<Effect>, StoreError> {
        self.inner.effect(key).await
    }

    async fn postpone_effect(
        &self,
        key: &str,
        revision: u64,
        due: Option<Millis>,
        error: &str,
    ) -> Result<(), StoreError> {
        self.inner.postpone_effect(key, revision, due, error).await
    }

    async fn owed(&self) -> Result<u64, StoreError> {
        self.inner.owed().await
    }
}

#[async_trait]
impl JournalStore for FlakyStore {
    async fn copy_run(
        &self,
        job: &JobId,
        fence: u64,
        kernel: &str,
        part: RunPart<'_>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        self.inner.copy_run(job, fence, kernel, part, now).await
    }

    async fn copied_run(&self, job: &JobId, kernel: &str) -> Result<Option<KeptRun>, StoreError> {
        self.inner.copied_run(job, kernel).await
    }

    async fn keep_text(&self, text: &str) -> Result<String, StoreError> {
        self.inner.keep_text(text).await
    }

    async fn text(&self, hash: &str) -> Result<Option<String>, StoreError> {
        self.inner.text(hash).await
    }
}

#[async_trait]
impl ServiceStore for FlakyStore {
    async fn close(&self) {
        self.inner.close().await;
    }
}
