//! The database as a person would look into it.

use std::path::Path;

use serde_json::Value;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions};

fn ask<T>(database: &Path, question: impl AsyncFnOnce(&mut SqliteConnection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(database).disable_statement_logging();
        let mut connection = options.connect().await.unwrap();
        let answer = question(&mut connection).await;
        connection.close().await.unwrap();
        answer
    })
}

/// Bodies of the events of one kind, in order.
pub(crate) fn events(database: &Path, kind: &str) -> Vec<Value> {
    ask(database, async |connection| {
        sqlx::query("SELECT body FROM events WHERE kind = ? ORDER BY run, seq")
            .bind(kind)
            .fetch_all(connection)
            .await
            .unwrap()
            .iter()
            .map(|row| serde_json::from_str(row.get::<&str, _>(0)).unwrap())
            .collect()
    })
}

/// Whether SQLite finds nothing wrong with the file.
pub(crate) fn intact(database: &Path) -> bool {
    ask(database, async |connection| {
        let answer = sqlx::query("PRAGMA integrity_check").fetch_one(connection).await.unwrap();
        answer.get::<&str, _>(0) == "ok"
    })
}
