//! [`RunStore`] on SQLite.

use std::{path::Path, time::SystemTime};

use async_trait::async_trait;
use serde::Serialize;
use sqlx::{Row, Sqlite, Transaction, query, query_scalar};

use super::{
    SqliteStore,
    rows::{self, RECORD, SUMMARIES, decode, state_name, timestamp},
};
use crate::{
    kernel::{Event, Outcome},
    store::{
        Environment, NewRun, RunRecord, RunStore, RunSummary, StoreError,
        event::{self, EventRow},
    },
};

#[async_trait]
impl RunStore for SqliteStore {
    async fn create_run(&self, run: &NewRun) -> Result<(), StoreError> {
        query(
            "INSERT INTO runs (id, key, output, target, plan, created, state) \
             VALUES (?, ?, ?, ?, ?, ?, 'open')",
        )
        .bind(&run.id)
        .bind(&run.key)
        .bind(unicode(&run.output)?)
        .bind(json(&run.target).ok_or_else(|| not_unicode(&run.target.source))?)
        .bind(run.plan.to_string())
        .bind(timestamp(run.created))
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(|error| match error.as_database_error() {
            Some(refused) if refused.is_unique_violation() => {
                StoreError::RunExists { database: self.name(), run: run.id.clone() }
            }
            _ => self.failed(error),
        })
    }

    async fn append(&self, run: &str, events: &[Event]) -> Result<(), StoreError> {
        let rows = events.iter().map(EventRow::write).collect::<Result<Vec<_>, _>>()?;
        // Immediate, so that the sequence number read here is still the last when it is used.
        let mut transaction =
            self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed(error))?;
        self.require(&mut transaction, run).await?;
        let written = async {
            write_events(&mut transaction, run, &rows).await?;
            if let Some(outcome) = event::outcome_after(events) {
                write_outcome(&mut transaction, run, outcome).await?;
            }
            transaction.commit().await
        };
        written.await.map_err(|error| self.failed(error))
    }

    async fn load(&self, run: &str) -> Result<(RunRecord, Vec<Event>), StoreError> {
        // One transaction: the record and the journal are of the same moment.
        let mut transaction = self.pool.begin().await.map_err(|error| self.failed(error))?;
        self.require(&mut transaction, run).await?;
        let read = async {
            let row = query(RECORD).bind(run).fetch_one(&mut *transaction).await?;
            let record = rows::record(&row)?;
            Ok((record, read_events(&mut transaction, run).await?))
        };
        read.await.map_err(|error| self.failed(error))
    }

    async fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        let found = query(SUMMARIES).fetch_all(&self.pool).await;
        found
            .and_then(|rows| rows.iter().map(rows::summary).collect())
            .map_err(|error| self.failed(error))
    }

    async fn find_open_by_key(&self, key: &str) -> Result<Option<String>, StoreError> {
        query_scalar(
            "SELECT id FROM runs WHERE key = ? AND state IN ('open', 'parked') \
             ORDER BY created DESC, id DESC LIMIT 1",
        )
        .bind(key)
        .fetch_optional(&self.pool)
        .await
        .map_err(|error| self.failed(error))
    }

    async fn set_environment(
        &self,
        run: &str,
        environment: &Environment,
    ) -> Result<(), StoreError> {
        let changed = query("UPDATE runs SET environment = ? WHERE id = ?")
            .bind(json(environment))
            .bind(run)
            .execute(&self.pool)
            .await
            .map_err(|error| self.failed(error))?;
        if changed.rows_affected() == 0 { Err(self.unknown(run)) } else { Ok(()) }
    }

    async fn end(&self, run: &str, outcome: &Outcome) -> Result<(), StoreError> {
        let mut transaction =
            self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed(error))?;
        self.require(&mut transaction, run).await?;
        let written = async {
            write_outcome(&mut transaction, run, Some(outcome)).await?;
            transaction.commit().await
        };
        written.await.map_err(|error| self.failed(error))
    }
}

impl SqliteStore {
    /// Deletes a run with its journal. What was learnt from it stays.
    pub(crate) async fn forget_run(&self, run: &str) -> Result<(), StoreError> {
        let mut transaction =
            self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed(error))?;
        let forgotten = async {
            for delete in [
                "DELETE FROM exchanges WHERE run = ?",
                "DELETE FROM events WHERE run = ?",
                "DELETE FROM runs WHERE id = ?",
            ] {
                query(delete).bind(run).execute(&mut *transaction).await?;
            }
            transaction.commit().await
        };
        forgotten.await.map_err(|error| self.failed(error))
    }

    async fn require(
        &self,
        transaction: &mut Transaction<'_, Sqlite>,
        run: &str,
    ) -> Result<(), StoreError> {
        let found = query("SELECT 1 FROM runs WHERE id = ?")
            .bind(run)
            .fetch_optional(&mut **transaction)
            .await
            .map_err(|error| self.failed(error))?;
        found.map(drop).ok_or_else(|| self.unknown(run))
    }

    fn unknown(&self, run: &str) -> StoreError {
        StoreError::UnknownRun { database: self.name(), run: run.to_owned() }
    }
}

async fn write_events(
    transaction: &mut Transaction<'_, Sqlite>,
    run: &str,
    rows: &[EventRow],
) -> Result<(), sqlx::Error> {
    let last: i64 = query_scalar("SELECT coalesce(max(seq), 0) FROM events WHERE run = ?")
        .bind(run)
        .fetch_one(&mut **transaction)
        .await?;
    let now = timestamp(SystemTime::now());
    for (seq, row) in (last + 1..).zip(rows) {
        if let Some((hash, text)) = &row.source {
            query("INSERT INTO sources (source, text) VALUES (?, ?) ON CONFLICT DO NOTHING")
                .bind(hash)
                .bind(text.as_bytes())
                .execute(&mut **transaction)
                .await?;
        }
        query(
            "INSERT INTO events (run, seq, recorded_at, kind, body, source) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(run)
        .bind(seq)
        .bind(&now)
        .bind(&row.kind)
        .bind(&row.body)
        .bind(row.source.as_ref().map(|(hash, _)| hash))
        .execute(&mut **transaction)
        .await?;
    }
    Ok(())
}

async fn read_events(
    transaction: &mut Transaction<'_, Sqlite>,
    run: &str,
) -> Result<Vec<Event>, sqlx::Error> {
    let rows = query(
        "SELECT body, text FROM events LEFT JOIN sources USING (source) \
         WHERE run = ? ORDER BY seq",
    )
    .bind(run)
    .fetch_all(&mut **transaction)
    .await?;
    let read = |row: &sqlx::sqlite::SqliteRow| {
        let text: Option<Vec<u8>> = row.try_get("text")?;
        let text = text.map(String::from_utf8).transpose();
        let text = text.map_err(|error| decode("text", error))?;
        event::read(row.try_get("body")?, text).map_err(|error| decode("body", error))
    };
    rows.iter().map(read).collect()
}

async fn write_outcome(
    transaction: &mut Transaction<'_, Sqlite>,
    run: &str,
    outcome: Option<&Outcome>,
) -> Result<(), sqlx::Error> {
    query("UPDATE runs SET state = ?, outcome = ? WHERE id = ?")
        .bind(state_name(outcome))
        .bind(outcome.and_then(json))
        .bind(run)
        .execute(&mut **transaction)
        .await
        .map(drop)
}

/// `None` only for what JSON cannot hold: a path that is not Unicode.
fn json<T: Serialize>(value: &T) -> Option<String> {
    serde_json::to_string(value).ok()
}

fn unicode(path: &Path) -> Result<&str, StoreError> {
    path.to_str().ok_or_else(|| not_unicode(path))
}

fn not_unicode(path: &Path) -> StoreError {
    StoreError::PathNotUnicode { path: path.to_owned() }
}
