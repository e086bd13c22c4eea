//! Copies of the runs that jobs make, so that any host can go on with them.

use async_trait::async_trait;

use super::{JobId, Millis};
use crate::{
    kernel::Event,
    store::{RunRecord, StoreError},
};

/// A run as far as it was copied.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptRun {
    pub record: RunRecord,
    /// The folder below which the host that copied it had everything of the job.
    pub root: String,
    /// Its whole journal, with the sources of its candidates.
    pub events: Vec<Event>,
}

/// What is new of a run since it was copied last.
#[derive(Clone, Debug)]
pub struct RunPart<'a> {
    /// As it stands now; replaces what was kept.
    pub record: &'a RunRecord,
    pub root: &'a str,
    /// How many events were copied before; these follow.
    pub after: u64,
    pub events: &'a [Event],
}

/// Keeps copies of runs, by job and kernel.
#[async_trait]
pub trait JournalStore: Send + Sync {
    /// Adds to the copy of a run, all or nothing; `false` where the lease with `fence` is lost. Events
    /// that are kept already are not kept twice, and a gap is an error ([`StoreError::JournalGap`]).
    /// The part after 0 of another run takes the place of what was kept.
    async fn copy_run(
        &self,
        job: &JobId,
        fence: u64,
        kernel: &str,
        part: RunPart<'_>,
        now: Millis,
    ) -> Result<bool, StoreError>;

    async fn copied_run(&self, job: &JobId, kernel: &str) -> Result<Option<KeptRun>, StoreError>;

    /// Keeps a text by its content hash, for example a verified kernel: its SHA-256, 64 digits.
    async fn keep_text(&self, text: &str) -> Result<String, StoreError>;

    async fn text(&self, hash: &str) -> Result<Option<String>, StoreError>;
}
