//! Rights that run out, on SQLite: a runner's to a job, and that to be the only one of a name.

use serde_json::Value;
use sqlx::query;

use super::SqliteStore;
use crate::store::{
    StoreError,
    service::{
        Job, JobId, Millis, rows,
        sql::{HEARTBEAT, LEAD, LOST_LEASES},
        values::{optional_json, signed},
    },
};

impl SqliteStore {
    pub(super) async fn lease_oldest(
        &self,
        runner: &str,
        labels: &[String],
        now: Millis,
        until: Millis,
    ) -> Result<Option<Job>, StoreError> {
        let labels = Value::from(labels).to_string();
        let (_turn, mut transaction) = self.writing().await?;
        let leased = async {
            let job = query(
                "UPDATE jobs SET state = 'leased', version = version + 1, fence = fence + 1, \
                 attempts = attempts + 1, runner = $1, lease_until = $3, updated = $4 \
                 WHERE number = (SELECT number FROM jobs WHERE state = 'queued' \
                 AND (gpu = '' OR gpu IN (SELECT value FROM json_each($2))) \
                 ORDER BY number LIMIT 1) RETURNING *",
            )
            .bind(runner)
            .bind(labels)
            .bind(until)
            .bind(now)
            .fetch_optional(&mut *transaction)
            .await?;
            transaction.commit().await?;
            job.as_ref().map(rows::job).transpose()
        };
        leased.await.map_err(|error| self.failed(error))
    }

    pub(super) async fn prolong(
        &self,
        id: &JobId,
        fence: u64,
        until: Millis,
        progress: Option<&Value>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let _turn = self.turn.lock().await;
        query(HEARTBEAT)
            .bind(&id.0)
            .bind(signed(fence))
            .bind(until)
            .bind(optional_json(progress))
            .bind(now)
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected() > 0)
            .map_err(|error| self.failed(error))
    }

    pub(super) async fn leases_before(&self, now: Millis) -> Result<Vec<Job>, StoreError> {
        let found = query(LOST_LEASES).bind(now).fetch_all(&self.pool).await;
        found
            .and_then(|rows| rows.iter().map(rows::job).collect())
            .map_err(|error| self.failed(error))
    }

    pub(super) async fn take_lead(
        &self,
        name: &str,
        owner: &str,
        now: Millis,
        until: Millis,
    ) -> Result<bool, StoreError> {
        let _turn = self.turn.lock().await;
        query(LEAD)
            .bind(name)
            .bind(owner)
            .bind(now)
            .bind(until)
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected() > 0)
            .map_err(|error| self.failed(error))
    }
}
