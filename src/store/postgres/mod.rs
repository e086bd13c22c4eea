//! What a service keeps, in Postgres, which several services and runners can share.
//!
//! Transactions are `READ COMMITTED`: what they depend on they compare and lock by themselves. Rows are
//! locked in the order of their ids wherever that can be. Where two transactions wait for one another all
//! the same, Postgres undoes one after a second (`deadlock_timeout`), and that one is tried again.

mod connect;
mod deliveries;
mod effects;
mod failure;
mod jobs;
mod journal;
mod lease;

use std::fmt;

use async_trait::async_trait;
use backon::Retryable;
use sqlx::{PgPool, Postgres, Transaction};

use super::{StoreError, service::ServiceStore};

/// A store in one Postgres database. Clones share its connections.
#[derive(Clone)]
pub struct PostgresStore {
    pool: PgPool,
    /// Address without the password.
    name: String,
}

impl PostgresStore {
    /// Connects to the database at `url` (`postgres://user:password@host:5432/name`), prepares an
    /// empty one and brings an older one up to date; several processes may do so at once.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let (pool, name) = connect::connect(url).await?;
        Ok(Self { pool, name })
    }

    /// Lets go of the database after what is under way.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Which database it is, without the password.
    pub fn name(&self) -> &str {
        &self.name
    }

    async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        self.pool.begin().await.map_err(|error| self.failed(error))
    }

    /// Tries again what Postgres undid for the sake of another transaction.
    async fn patiently<T, Attempt>(&self, attempt: impl FnMut() -> Attempt) -> Result<T, StoreError>
    where
        Attempt: Future<Output = Result<T, StoreError>>,
    {
        attempt
            .retry(failure::pauses())
            .sleep(tokio::time::sleep)
            .when(failure::was_undone)
            .notify(|error, wait| tracing::debug!(%error, ?wait, "trying again"))
            .await
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        failure::explain(&self.name, source)
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl ServiceStore for PostgresStore {
    async fn close(&self) {
        self.close().await;
    }
}
