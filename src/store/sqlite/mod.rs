//! The store in one SQLite file.
//!
//! Write-ahead log with `synchronous = NORMAL`: a committed transaction has been handed to the
//! operating system, so the death of the process, by `kill -9` too, loses nothing that was
//! acknowledged. A power failure may lose the last transactions, never their order: the journal
//! then ends a little earlier and the resumed run repeats those evaluations. `FULL` would buy
//! that back for a disk flush before every evaluation, on the path that feeds the GPU; a service
//! opens its database so ([`SqliteOptions::service`]), because GitHub does not send twice what it was
//! told to have arrived.

mod ceilings;
mod exchanges;
mod experience;
mod failure;
mod open;
mod rows;
mod runs;
mod service;

pub use open::SqliteOptions;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use sqlx::SqlitePool;
use tokio::sync::Mutex;

use super::{StoreError, service::ServiceStore};

/// A store in one SQLite file. Clones share the file's connections.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pool: SqlitePool,
    path: PathBuf,
    /// Whose turn it is to write for the service.
    turn: Arc<Mutex<()>>,
}

impl SqliteStore {
    /// Opens the database at `path`; creates it and its folder where they are missing, and brings
    /// an older one up to date.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default()).await
    }

    /// As [`SqliteStore::open`], with waiting time and durability given.
    pub async fn open_with(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let pool = open::open(path, options).await?;
        Ok(Self { pool, path: path.to_owned(), turn: Arc::default() })
    }

    /// Lets go of the file after what is under way. Without it the file closes some time after the store is
    /// dropped, and a process that ends before leaves its last transactions in the log beside the file.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        failure::explain(&self.path, source)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

#[cfg(test)]
mod tests;

#[async_trait]
impl ServiceStore for SqliteStore {
    async fn close(&self) {
        self.close().await;
    }
}
