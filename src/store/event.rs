//! Events as rows: the source of an added candidate lies apart, so that a run of a thousand
//! small edits does not keep a thousand copies of the file inside JSON.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::StoreError;
use crate::kernel::{Event, Outcome};

/// An event ready to be written.
#[derive(Debug)]
pub(super) struct EventRow {
    pub(super) kind: String,
    /// JSON, without the source.
    pub(super) body: String,
    /// The source of an added candidate and its full content hash.
    pub(super) source: Option<(String, Arc<str>)>,
}

impl EventRow {
    /// Takes `event` apart. Refuses what [`read`] would not give back: JSON has no NaN, and an
    /// unreadable event would make the whole run unreadable.
    pub(super) fn write(event: &Event) -> Result<Self, StoreError> {
        let (bare, source) = without_source(event);
        let value = serde_json::to_value(&bare).unwrap_or_default();
        let kind = value.get("event").and_then(Value::as_str).unwrap_or("unknown").to_owned();
        let body = value.to_string();
        match serde_json::from_str::<Event>(&body) {
            Ok(again) if again == bare => Ok(Self { kind, body, source }),
            _ => Err(StoreError::Unfaithful { kind }),
        }
    }
}

/// Puts a row together again; `source` is the text that lay apart.
pub(super) fn read(body: &str, source: Option<String>) -> Result<Event, serde_json::Error> {
    let mut event = serde_json::from_str(body)?;
    if let (Event::CandidateAdded { candidate }, Some(text)) = (&mut event, source) {
        candidate.source = text.into();
    }
    Ok(event)
}

/// The outcome that `events` leave a run with: `Some(None)` opens it, `None` changes nothing.
pub(super) fn outcome_after(events: &[Event]) -> Option<Option<&Outcome>> {
    events.iter().rev().find_map(|event| match event {
        Event::Ended { outcome } => Some(Some(outcome)),
        Event::Resumed { .. } => Some(None),
        _ => None,
    })
}

fn without_source(event: &Event) -> (Event, Option<(String, Arc<str>)>) {
    let Event::CandidateAdded { candidate } = event else { return (event.clone(), None) };
    let mut candidate = candidate.clone();
    let text = std::mem::replace(&mut candidate.source, "".into());
    (Event::CandidateAdded { candidate }, Some((content_hash(&text), text)))
}

/// SHA-256 in 64 hexadecimal digits.
pub(super) fn content_hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
