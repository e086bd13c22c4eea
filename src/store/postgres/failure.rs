//! Postgres's error codes (<https://www.postgresql.org/docs/current/errcodes-appendix.html>) in the
//! store's words.

use std::time::Duration;

use crate::store::StoreError;

/// What `error` of the database called `name` means to a user.
pub(super) fn explain(name: &str, error: sqlx::Error) -> StoreError {
    let database = name.to_owned();
    let detail = match error.as_database_error() {
        Some(refused) => refused.message().to_owned(),
        None => error.to_string(),
    };
    match (&error, code(&error).as_deref()) {
        (sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut, _) => {
            StoreError::Unreachable { database, detail }
        }
        // Too many connections; going down, gone down, not up yet.
        (_, Some("53300" | "57P01" | "57P02" | "57P03")) => {
            StoreError::Unreachable { database, detail }
        }
        // Wrong password, wrong user, no such database, no right to connect.
        (_, Some("28P01" | "28000" | "3D000" | "42501")) => {
            StoreError::NoEntry { database, detail }
        }
        (_, Some("53100")) => StoreError::Full { database },
        _ => StoreError::Database { database, source: error },
    }
}

/// Patience with transactions that Postgres undid for the sake of another.
pub(super) struct Patience {
    tries: u32,
}

impl Patience {
    const TRIES: u32 = 6;

    pub(super) fn new() -> Self {
        Self { tries: 0 }
    }

    /// How long to wait before it is tried again; `None` where that would not help.
    pub(super) fn after<T>(&mut self, outcome: &Result<T, StoreError>) -> Option<Duration> {
        let Err(StoreError::Database { source, .. }) = outcome else { return None };
        // Serialization failure, deadlock.
        let undone = matches!(code(source).as_deref(), Some("40001" | "40P01"));
        self.tries += 1;
        (undone && self.tries < Self::TRIES)
            .then(|| Duration::from_millis(5).saturating_mul(1 << self.tries))
    }
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}
