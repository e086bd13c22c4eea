//! Postgres's error codes (<https://www.postgresql.org/docs/current/errcodes-appendix.html>) in the
//! store's words.

use std::time::Duration;

use backon::ExponentialBuilder;

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

/// When to try again what Postgres undid for the sake of another transaction. At random, because those
/// that were in one another's way would be so again at the same moment.
pub(super) fn pauses() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(5))
        .with_max_delay(Duration::from_millis(500))
        .with_max_times(8)
        .with_jitter()
}

/// Whether it was undone so: a serialization failure or a deadlock.
pub(super) fn was_undone(error: &StoreError) -> bool {
    let StoreError::Database { source, .. } = error else { return false };
    matches!(code(source).as_deref(), Some("40001" | "40P01"))
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}
