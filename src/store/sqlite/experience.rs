//! [`ExperienceStore`] on SQLite.

use async_trait::async_trait;
use sqlx::{query, query_scalar};

use super::{
    SqliteStore,
    rows::{decode, timestamp},
};
use crate::{
    kernel::Observation,
    store::{ExperienceFilter, ExperienceStore, StoreError},
};

#[async_trait]
impl ExperienceStore for SqliteStore {
    async fn record_experience(&self, observations: &[Observation]) -> Result<u64, StoreError> {
        let mut transaction =
            self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed(error))?;
        let written = async {
            let count = "SELECT count(*) FROM experience";
            let before: i64 = query_scalar(count).fetch_one(&mut *transaction).await?;
            for observation in observations {
                query(
                    "INSERT INTO experience \
                     (run, candidate, operator, arch, move, recorded_at, observation) \
                     VALUES (?, ?, ?, ?, ?, ?, ?) \
                     ON CONFLICT DO UPDATE SET operator = excluded.operator, \
                     arch = excluded.arch, move = excluded.move, \
                     recorded_at = excluded.recorded_at, observation = excluded.observation \
                     WHERE excluded.recorded_at > experience.recorded_at",
                )
                .bind(&observation.run)
                .bind(observation.candidate.as_str())
                .bind(&observation.operator)
                .bind(&observation.arch)
                .bind(observation.step())
                .bind(timestamp(observation.recorded))
                .bind(serde_json::to_string(observation).unwrap_or_default())
                .execute(&mut *transaction)
                .await?;
            }
            let after: i64 = query_scalar(count).fetch_one(&mut *transaction).await?;
            transaction.commit().await?;
            Ok((after - before).unsigned_abs())
        };
        written.await.map_err(|error| self.failed(error))
    }

    async fn list_experience(
        &self,
        filter: &ExperienceFilter,
    ) -> Result<Vec<Observation>, StoreError> {
        let found: Vec<String> = query_scalar(
            "SELECT observation FROM experience \
             WHERE (?1 IS NULL OR operator = ?1) AND (?2 IS NULL OR arch = ?2) \
             AND (?3 IS NULL OR move = ?3) AND (?4 IS NULL OR run = ?4) \
             ORDER BY recorded_at, run, candidate",
        )
        .bind(&filter.operator)
        .bind(&filter.arch)
        .bind(&filter.step)
        .bind(&filter.run)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.failed(error))?;
        let read = |text: &String| {
            serde_json::from_str(text).map_err(|error| self.failed(decode("observation", error)))
        };
        found.iter().map(read).collect()
    }

    async fn forget_experience(&self, filter: &ExperienceFilter) -> Result<u64, StoreError> {
        query(
            "DELETE FROM experience \
             WHERE (?1 IS NULL OR operator = ?1) AND (?2 IS NULL OR arch = ?2) \
             AND (?3 IS NULL OR move = ?3) AND (?4 IS NULL OR run = ?4)",
        )
        .bind(&filter.operator)
        .bind(&filter.arch)
        .bind(&filter.step)
        .bind(&filter.run)
        .execute(&self.pool)
        .await
        .map(|done| done.rows_affected())
        .map_err(|error| self.failed(error))
    }
}
