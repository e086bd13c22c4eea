//! The concern "runs": what a store keeps of them, whatever the database.

use std::{path::PathBuf, time::SystemTime};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Environment, StoreError};
use crate::kernel::{Event, Outcome, Target};

/// A run about to begin.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// For example `20261129-134501-softmax-3f2a`; chosen by the caller.
    pub id: String,
    /// Hash that identifies "the same command again".
    pub key: String,
    /// The output folder, absolute.
    pub output: PathBuf,
    /// The target as it stands now; a resumed run goes on from it, whatever the file says then.
    pub target: Target,
    /// Ladder, budget, seed: what the search is configured with.
    pub plan: Value,
    /// Kept to the millisecond.
    pub created: SystemTime,
}

/// Whether a run can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Begun and not ended: under way, or stopped and to be resumed.
    Open,
    /// Waits for answers; goes on when resumed.
    Parked,
    Ended,
}

/// A run as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub id: String,
    pub key: String,
    pub output: PathBuf,
    pub target: Target,
    pub plan: Value,
    /// `None` until the devices have been looked at.
    pub environment: Option<Environment>,
    pub created: SystemTime,
    pub state: RunState,
    /// `None` while it is open.
    pub outcome: Option<Outcome>,
}

/// A line in the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    pub id: String,
    /// Name of the target.
    pub target: String,
    pub output: PathBuf,
    pub device: Option<String>,
    pub created: SystemTime,
    pub state: RunState,
    pub outcome: Option<Outcome>,
    /// Length of its journal.
    pub events: u64,
}

/// Keeps runs and their journals.
///
/// What a call has acknowledged survives the death of the process at any moment. Who drives a run
/// holds its output folder's [`super::OutputLock`]; the store does not arbitrate between drivers.
#[async_trait]
pub trait RunStore: Send + Sync {
    /// Keeps a new, open run; [`StoreError::RunExists`] when its id is taken.
    async fn create_run(&self, run: &NewRun) -> Result<(), StoreError>;

    /// Appends `events` to the run's journal, all or none. [`Event::Ended`] ends or parks the run and
    /// [`Event::Resumed`] opens it again in the same transaction.
    async fn append(&self, run: &str, events: &[Event]) -> Result<(), StoreError>;

    /// The run and its whole journal in order.
    async fn load(&self, run: &str) -> Result<(RunRecord, Vec<Event>), StoreError>;

    /// All runs, the newest first.
    async fn list(&self) -> Result<Vec<RunSummary>, StoreError>;

    /// The newest run with this key that can go on: open or parked.
    async fn find_open_by_key(&self, key: &str) -> Result<Option<String>, StoreError>;

    /// Says what timings from now on hold for.
    async fn set_environment(&self, run: &str, environment: &Environment)
    -> Result<(), StoreError>;

    /// Ends (or parks) a run outside its journal, for one that failed before its search began.
    async fn end(&self, run: &str, outcome: &Outcome) -> Result<(), StoreError>;
}
