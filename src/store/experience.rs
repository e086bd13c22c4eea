//! The concern "experience": what moves did, over all runs.

use async_trait::async_trait;

use super::StoreError;
use crate::kernel::Observation;

/// Which observations are meant: those for which everything that is given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExperienceFilter {
    pub operator: Option<String>,
    pub arch: Option<String>,
    /// As [`Observation::step`] names it.
    pub step: Option<String>,
    pub run: Option<String>,
}

impl ExperienceFilter {
    /// Whether all observations are meant.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Keeps observations, one a candidate of a run.
#[async_trait]
pub trait ExperienceStore: Send + Sync {
    /// Keeps `observations`, all or none, and says how many are of candidates not known before. Of
    /// two about the same candidate of a run the one that was recorded later stays, so that
    /// recording twice changes nothing and a run that went on replaces what it knew when it stopped.
    async fn record_experience(&self, observations: &[Observation]) -> Result<u64, StoreError>;

    /// Those that are meant, the oldest first.
    async fn list_experience(
        &self,
        filter: &ExperienceFilter,
    ) -> Result<Vec<Observation>, StoreError>;

    /// Forgets those that are meant, and says how many.
    async fn forget_experience(&self, filter: &ExperienceFilter) -> Result<u64, StoreError>;
}

/// Observations as text, one JSON object a line.
pub fn to_json_lines(observations: &[Observation]) -> String {
    let line = |it: &Observation| serde_json::to_string(it).unwrap_or_default() + "\n";
    observations.iter().map(line).collect()
}

/// The observations of such a text. Empty lines are passed over; the first line that is no sound
/// observation is an error.
pub fn from_json_lines(text: &[u8]) -> Result<Vec<Observation>, BadLine> {
    let mut observations = Vec::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let bad = |problem: String| BadLine { number, problem };
        if line.len() > LONGEST_LINE {
            return Err(bad(format!("it has {} bytes, and no observation is so long", line.len())));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(bad("it is no observation: a JSON object is expected".to_owned()));
        }
        let read: Observation =
            serde_json::from_slice(line).map_err(|error| bad(explained(&error)))?;
        read.check().map_err(|error| bad(error.to_string()))?;
        observations.push(read);
    }
    Ok(observations)
}

/// Bytes.
const LONGEST_LINE: usize = 64 << 10;

/// serde's message, whose own line is always the first, and which may quote much of it.
fn explained(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let text: String = text.trim_end_matches(&place).chars().take(200).collect();
    format!("it is no observation: {text} at column {}", error.column())
}

/// A line that is no observation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number}: {problem}")]
pub struct BadLine {
    /// From 1.
    pub number: usize,
    problem: String,
}
