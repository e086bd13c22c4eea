//! SQLite's result codes (<https://sqlite.org/rescode.html>) in the store's words.

use std::path::Path;

use super::StoreError;

const PERM: i32 = 3;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const NOTADB: i32 = 26;
/// Extended: the index of the write-ahead log cannot grow, which SQLite does not call `FULL`.
const IOERR_SHMSIZE: i32 = 4874;

/// The low byte of SQLite's extended result code; `None` when SQLite did not speak.
pub(super) fn primary_code(error: &sqlx::Error) -> Option<i32> {
    Some(extended_code(error)? & 0xff)
}

fn extended_code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// Whether somebody else holds what was asked for.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(BUSY | LOCKED))
}

/// What `error` on the database at `path` means to a user.
pub(super) fn explain(path: &Path, error: sqlx::Error) -> StoreError {
    let database = path.display().to_string();
    if extended_code(&error) == Some(IOERR_SHMSIZE) {
        return StoreError::Full { database };
    }
    match primary_code(&error) {
        Some(PERM | READONLY | CANTOPEN) => StoreError::Unwritable { database },
        Some(BUSY | LOCKED) => StoreError::Locked { database },
        Some(FULL) => StoreError::Full { database },
        Some(NOTADB) => StoreError::NotADatabase { database },
        Some(CORRUPT) => StoreError::Damaged { database, detail: error.to_string() },
        _ => StoreError::Database { database, source: error },
    }
}
