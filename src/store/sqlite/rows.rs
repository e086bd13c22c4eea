//! Rows of the database and what they mean.

use std::{path::PathBuf, time::SystemTime};

use serde::de::DeserializeOwned;
use sqlx::{Row, sqlite::SqliteRow};

use crate::{
    kernel::Outcome,
    store::{RunRecord, RunState, RunSummary},
};

/// The columns that [`record`] reads.
pub(super) const RECORD: &str = "SELECT id, key, output, target, plan, environment, created, \
    state, outcome FROM runs WHERE id = ?";

/// The columns that [`summary`] reads.
pub(super) const SUMMARIES: &str = "SELECT id, json_extract(target, '$.name') AS target, output, \
    json_extract(environment, '$.device') AS device, created, state, outcome, \
    (SELECT count(*) FROM events WHERE run = runs.id) AS events \
    FROM runs ORDER BY created DESC, id DESC";

pub(super) fn record(row: &SqliteRow) -> Result<RunRecord, sqlx::Error> {
    Ok(RunRecord {
        id: row.try_get("id")?,
        key: row.try_get("key")?,
        output: PathBuf::from(row.try_get::<String, _>("output")?),
        target: json(row, "target")?,
        plan: json(row, "plan")?,
        environment: optional_json(row, "environment")?,
        created: created(row)?,
        state: state(row)?,
        outcome: optional_json(row, "outcome")?,
    })
}

pub(super) fn summary(row: &SqliteRow) -> Result<RunSummary, sqlx::Error> {
    Ok(RunSummary {
        id: row.try_get("id")?,
        target: row.try_get("target")?,
        output: PathBuf::from(row.try_get::<String, _>("output")?),
        device: row.try_get("device")?,
        created: created(row)?,
        state: state(row)?,
        outcome: optional_json(row, "outcome")?,
        events: row.try_get::<i64, _>("events")?.unsigned_abs(),
    })
}

/// RFC 3339 in UTC, to the millisecond: sorts as text.
pub(super) fn timestamp(moment: SystemTime) -> String {
    humantime::format_rfc3339_millis(moment).to_string()
}

pub(super) fn state_name(outcome: Option<&Outcome>) -> &'static str {
    match outcome {
        None => "open",
        Some(Outcome::Parked { .. }) => "parked",
        Some(_) => "ended",
    }
}

fn state(row: &SqliteRow) -> Result<RunState, sqlx::Error> {
    Ok(match row.try_get("state")? {
        "open" => RunState::Open,
        "parked" => RunState::Parked,
        _ => RunState::Ended,
    })
}

fn created(row: &SqliteRow) -> Result<SystemTime, sqlx::Error> {
    humantime::parse_rfc3339(row.try_get("created")?).map_err(|error| decode("created", error))
}

fn json<T: DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<T, sqlx::Error> {
    serde_json::from_str(row.try_get(column)?).map_err(|error| decode(column, error))
}

fn optional_json<T: DeserializeOwned>(
    row: &SqliteRow,
    column: &str,
) -> Result<Option<T>, sqlx::Error> {
    let text: Option<&str> = row.try_get(column)?;
    text.map(serde_json::from_str).transpose().map_err(|error| decode(column, error))
}

pub(super) fn decode(
    column: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.into(), source: Box::new(error) }
}
