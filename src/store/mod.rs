//! Floor 3: what outlives a process. One trait a concern, one implementation a database,
//! one file a database; `tests/store` holds every implementation to the same promises.

mod ceilings;
mod environment;
mod error;
mod event;
mod exchange;
mod experience;
mod lock;
pub mod postgres;
mod run;
pub mod service;
pub mod sqlite;

pub use ceilings::{CeilingKey, CeilingStore};
pub use environment::Environment;
pub use error::StoreError;
pub use exchange::{ExchangeKey, ExchangeStore, KeptExchange};
pub use experience::{BadLine, ExperienceFilter, ExperienceStore, from_json_lines, to_json_lines};
pub use lock::{OutputLock, lock_output};
pub use postgres::PostgresStore;
pub use run::{NewRun, RunRecord, RunState, RunStore, RunSummary};
pub use sqlite::{SqliteOptions, SqliteStore};

use std::path::PathBuf;

/// Where the database lies unless the user says otherwise: `kernelbrain/kernelbrain.db` in the
/// user's data folder. `None` when the system gives a user no home.
pub fn default_path() -> Option<PathBuf> {
    directories::BaseDirs::new()
        .map(|base| base.data_dir().join("kernelbrain").join("kernelbrain.db"))
}

#[cfg(test)]
mod tests;
