//! What a service keeps, in SQLite.
//!
//! SQLite has one writer at a time. Writers of one process queue up for it in order here, because
//! SQLite's own waiting is to sleep and try again, which under load keeps some waiting for long;
//! other processes are waited for in SQLite's way.

mod deliveries;
mod effects;
mod jobs;
mod journal;
mod lease;
mod packed;

use sqlx::{Sqlite, Transaction};
use tokio::sync::MutexGuard;

use super::SqliteStore;
use crate::store::StoreError;

impl SqliteStore {
    /// Begins a transaction that writes. The turn is to be held until it is over.
    async fn writing(
        &self,
    ) -> Result<(MutexGuard<'_, ()>, Transaction<'static, Sqlite>), StoreError> {
        let turn = self.turn.lock().await;
        // Immediate, so that what it reads is still so when it writes.
        let begun = self.pool.begin_with("BEGIN IMMEDIATE").await;
        begun.map(|transaction| (turn, transaction)).map_err(|error| self.failed(error))
    }
}
