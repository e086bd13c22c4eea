//! Rows of either database and what they mean.

use serde_json::Value;
use sqlx::{ColumnIndex, Decode, Row, Type};

use super::{
    Delivery, DeliveryState, Effect, EffectState, Job, JobId, JobState, KeptRun, Lease, NewEffect,
    NewJob, PullKey, Receipt, Spent,
};
use crate::{
    kernel::Event,
    store::{RunRecord, event},
};

/// Columns by name, in the types that the service's tables have.
pub(in crate::store) trait Columns {
    fn int(&self, column: &str) -> Result<i64, sqlx::Error>;
    fn optional_int(&self, column: &str) -> Result<Option<i64>, sqlx::Error>;
    fn flag(&self, column: &str) -> Result<bool, sqlx::Error>;
    fn text(&self, column: &str) -> Result<String, sqlx::Error>;
    fn optional_text(&self, column: &str) -> Result<Option<String>, sqlx::Error>;
    fn optional_bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error>;

    /// Ids and counts, which are never negative.
    fn count(&self, column: &str) -> Result<u64, sqlx::Error> {
        self.int(column).map(i64::unsigned_abs)
    }

    fn json(&self, column: &str) -> Result<Value, sqlx::Error> {
        serde_json::from_str(&self.text(column)?).map_err(|error| unreadable(column, error))
    }

    /// A state by its name.
    fn state<T>(&self, of_name: impl Fn(&str) -> Option<T>) -> Result<T, sqlx::Error> {
        let name = self.text("state")?;
        of_name(&name).ok_or_else(|| unreadable("state", format!("no state is called {name:?}")))
    }
}

impl<R: Row> Columns for R
where
    for<'c> &'c str: ColumnIndex<R>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> bool: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> String: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> Vec<u8>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn int(&self, column: &str) -> Result<i64, sqlx::Error> {
        self.try_get(column)
    }

    fn optional_int(&self, column: &str) -> Result<Option<i64>, sqlx::Error> {
        self.try_get(column)
    }

    fn flag(&self, column: &str) -> Result<bool, sqlx::Error> {
        self.try_get(column)
    }

    fn text(&self, column: &str) -> Result<String, sqlx::Error> {
        self.try_get(column)
    }

    fn optional_text(&self, column: &str) -> Result<Option<String>, sqlx::Error> {
        self.try_get(column)
    }

    fn optional_bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
        self.try_get(column)
    }
}

pub(in crate::store) fn delivery(row: &impl Columns) -> Result<Delivery, sqlx::Error> {
    Ok(Delivery {
        receipt: Receipt {
            id: row.text("id")?,
            event: row.text("event")?,
            body: row.optional_bytes("body")?.unwrap_or_default(),
            received: row.int("received")?,
        },
        attempts: small(row.int("attempts")?),
    })
}

pub(in crate::store) fn delivery_state(row: &impl Columns) -> Result<DeliveryState, sqlx::Error> {
    row.state(|name| match name {
        "received" => Some(DeliveryState::Received),
        "done" => Some(DeliveryState::Done),
        "failed" => Some(DeliveryState::Failed),
        _ => None,
    })
}

pub(in crate::store) fn job(row: &impl Columns) -> Result<Job, sqlx::Error> {
    let runner = row.optional_text("runner")?;
    let until = row.optional_int("lease_until")?;
    let fence = row.count("fence")?;
    Ok(Job {
        new: NewJob {
            id: JobId(row.text("id")?),
            pull: PullKey {
                installation: row.count("installation")?,
                repository: row.count("repository_id")?,
                number: row.count("pull")?,
            },
            repository: row.text("repository")?,
            head_sha: row.text("head_sha")?,
            base_sha: row.text("base_sha")?,
            requested_by: row.text("requested_by")?,
            origin: row.text("origin")?,
            gpu: row.text("gpu")?,
            budget_seconds: row.count("budget_seconds")?,
            order: row.json("request")?,
        },
        state: row.state(JobState::of_name)?,
        version: row.count("version")?,
        lease: runner.zip(until).map(|(runner, until)| Lease { runner, fence, until }),
        attempts: small(row.int("attempts")?),
        spent_seconds: row.optional_int("spent_seconds")?.map(i64::unsigned_abs),
        progress: row.json("progress")?,
        result: row.json("result")?,
        reason: row.text("reason")?,
        created: row.int("created")?,
        updated: row.int("updated")?,
    })
}

/// State and version of a job, which a transition is compared with.
pub(in crate::store) fn standing(row: &impl Columns) -> Result<(JobState, u64), sqlx::Error> {
    Ok((row.state(JobState::of_name)?, row.count("version")?))
}

pub(in crate::store) fn spent(row: &impl Columns) -> Result<Spent, sqlx::Error> {
    Ok(Spent { seconds: row.count("seconds")?, jobs: row.count("jobs")? })
}

pub(in crate::store) fn effect(row: &impl Columns) -> Result<Effect, sqlx::Error> {
    Ok(Effect {
        number: row.count("number")?,
        new: NewEffect {
            key: row.text("key")?,
            installation: row.count("installation")?,
            priority: row.int("priority")?.try_into().unwrap_or(u8::MAX),
            replaces: row.flag("replaces")?,
            due: row.int("due")?,
            body: row.json("body")?,
        },
        revision: row.count("revision")?,
        state: row.state(|name| match name {
            "owed" => Some(EffectState::Owed),
            "done" => Some(EffectState::Done),
            "dropped" => Some(EffectState::Dropped),
            "failed" => Some(EffectState::Failed),
            _ => None,
        })?,
        attempts: small(row.int("attempts")?),
        remote: row.optional_text("remote")?,
        error: row.optional_text("error")?,
    })
}

/// A copied run: the row of its record and those of its events.
pub(in crate::store) fn kept_run<R: Columns>(
    row: &R,
    events: &[R],
) -> Result<KeptRun, sqlx::Error> {
    Ok(KeptRun {
        record: record(row)?,
        root: row.text("root")?,
        events: events.iter().map(journal_event).collect::<Result<_, _>>()?,
    })
}

pub(in crate::store) fn record(row: &impl Columns) -> Result<RunRecord, sqlx::Error> {
    serde_json::from_str(&row.text("record")?).map_err(|error| unreadable("record", error))
}

fn journal_event(row: &impl Columns) -> Result<Event, sqlx::Error> {
    let source = text(row.optional_bytes("text")?)?;
    event::read(&row.text("body")?, source).map_err(|error| unreadable("body", error))
}

/// A text that is kept as bytes.
pub(in crate::store) fn text(bytes: Option<Vec<u8>>) -> Result<Option<String>, sqlx::Error> {
    bytes.map(String::from_utf8).transpose().map_err(|error| unreadable("text", error))
}

fn unreadable(
    column: &str,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.into(), source: error.into() }
}

/// Attempts.
fn small(number: i64) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}
