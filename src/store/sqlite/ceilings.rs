//! [`CeilingStore`] on SQLite.

use std::time::SystemTime;

use async_trait::async_trait;
use sqlx::{query, query_scalar};

use super::{SqliteStore, rows::timestamp};
use crate::{
    kernel::Ceilings,
    store::{CeilingKey, CeilingStore, StoreError, ceilings::REVISION},
};

#[async_trait]
impl CeilingStore for SqliteStore {
    async fn put_ceilings(
        &self,
        key: &CeilingKey,
        ceilings: &Ceilings,
        measured: SystemTime,
    ) -> Result<(), StoreError> {
        query(
            "INSERT OR REPLACE INTO ceilings \
             (gpu, driver, clocks, revision, measured_at, ceilings) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(&key.gpu)
        .bind(&key.driver)
        .bind(&key.clocks)
        .bind(REVISION)
        .bind(timestamp(measured))
        .bind(serde_json::to_string(ceilings).unwrap_or_default())
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(|error| self.failed(error))
    }

    async fn find_ceilings(&self, key: &CeilingKey) -> Result<Option<Ceilings>, StoreError> {
        let found: Option<String> = query_scalar(
            "SELECT ceilings FROM ceilings \
             WHERE gpu = ? AND driver = ? AND clocks = ? AND revision = ?",
        )
        .bind(&key.gpu)
        .bind(&key.driver)
        .bind(&key.clocks)
        .bind(REVISION)
        .fetch_optional(&self.pool)
        .await
        .map_err(|error| self.failed(error))?;
        // What cannot be read is measured again.
        Ok(found.and_then(|text| serde_json::from_str(&text).ok()))
    }
}
