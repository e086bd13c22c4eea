//! Values on their way into either database.

use serde_json::Value;

use super::{JobState, RunPart, Transition};
use crate::store::{RunRecord, StoreError, event::EventRow};

/// Ids and counts; databases know signed numbers only.
pub(in crate::store) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Words for people, which may quote anything: without the one character that no Postgres text may
/// hold.
pub(in crate::store) fn words(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

pub(in crate::store) fn optional_json(value: Option<&Value>) -> Option<String> {
    value.map(Value::to_string)
}

/// Whether `step` may be taken from where its job is kept: `false` is a conflict.
pub(in crate::store) fn may_step(
    kept: Option<(JobState, u64)>,
    step: &Transition,
) -> Result<bool, StoreError> {
    let Some((from, version)) = kept else { return Ok(false) };
    if version != step.version {
        return Ok(false);
    }
    let held = match step.to {
        JobState::Leased => from == JobState::Leased,
        JobState::Running => from.is_held(),
        _ => return Ok(true),
    };
    if held {
        return Ok(true);
    }
    Err(StoreError::NotLeased { job: step.job.to_string(), from: from.name(), to: step.to.name() })
}

/// A part of a run, ready to be written.
pub(in crate::store) struct Rows {
    /// JSON.
    pub(in crate::store) record: String,
    pub(in crate::store) events: Vec<EventRow>,
}

impl Rows {
    pub(in crate::store) fn of(part: &RunPart<'_>) -> Result<Self, StoreError> {
        let record = serde_json::to_string(part.record)
            .map_err(|_| StoreError::PathNotUnicode { path: part.record.output.clone() })?;
        let events = part.events.iter().map(EventRow::write).collect::<Result<_, _>>()?;
        Ok(Self { record, events })
    }
}

/// How a part goes on from what is kept.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) enum Continuation {
    /// Its first events up to this many are kept already.
    After(usize),
    /// Another run of the same kernel began: what is kept of the former is forgotten.
    Anew,
}

/// Compares `part` with what is kept: the record and the number of events.
pub(in crate::store) fn continuation(
    kept: Option<&RunRecord>,
    kept_events: i64,
    part: &RunPart<'_>,
) -> Result<Continuation, StoreError> {
    if part.after == 0 && kept.is_some_and(|record| record.id != part.record.id) {
        return Ok(Continuation::Anew);
    }
    let same = kept.is_none_or(|record| record.id == part.record.id);
    let kept_events = kept_events.unsigned_abs();
    match kept_events.checked_sub(part.after) {
        Some(doubled) if same => Ok(Continuation::After(usize::try_from(doubled).unwrap_or(0))),
        _ => Err(StoreError::JournalGap {
            run: part.record.id.clone(),
            after: part.after,
            kept: if same { kept_events } else { 0 },
        }),
    }
}
