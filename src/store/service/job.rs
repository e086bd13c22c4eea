//! Jobs: a pull request's kernels at one commit, to be made faster.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Applied, Change, Millis};
use crate::store::StoreError;

/// Identity of a job, for example `7f3a9c21d0e4`; chosen by the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub String);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pull request, whatever its repository is called at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PullKey {
    pub installation: u64,
    pub repository: u64,
    pub number: u64,
}

/// Where a job stands.
///
/// ```text
/// queued ─► leased ─► running ─► measured ─► reported
///    ▲         │         │           │
///    └─────────┴─────────┘           │        a lease that ran out
///    any of them but the last ─► failed, cancelled, superseded
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Queued,
    /// A runner has it and prepares: checkout, environment.
    Leased,
    /// A search is under way.
    Running,
    /// The results are kept; what is owed to GitHub is not all done.
    Measured,
    /// Everything that was owed is done.
    Reported,
    Failed,
    Cancelled,
    /// A newer commit came.
    Superseded,
}

impl JobState {
    pub const ALL: [Self; 8] = [
        Self::Queued,
        Self::Leased,
        Self::Running,
        Self::Measured,
        Self::Reported,
        Self::Failed,
        Self::Cancelled,
        Self::Superseded,
    ];

    /// As it is written in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Leased => "leased",
            Self::Running => "running",
            Self::Measured => "measured",
            Self::Reported => "reported",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether a runner has it.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Leased | Self::Running)
    }

    /// Whether nothing of it is to be searched any more.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Leased | Self::Running)
    }
}

/// A runner's right to a job, until it runs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Name of the runner.
    pub runner: String,
    /// Increases with every lease of the job: whoever comes with an older one has lost it.
    pub fence: u64,
    pub until: Millis,
}

/// A job about to be queued.
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob {
    pub id: JobId,
    pub pull: PullKey,
    /// `owner/name` at the time.
    pub repository: String,
    /// The commit that was approved, 40 hexadecimal digits.
    pub head_sha: String,
    pub base_sha: String,
    /// Login of whoever asked for it and whose permission was verified.
    pub requested_by: String,
    /// What asked for it, once: `comment:123`, `label:<delivery>`. A second job of the same origin is
    /// refused.
    pub origin: String,
    /// Label of GPUs that may take it; empty for any.
    pub gpu: String,
    /// What is granted, in seconds of wall clock; counted against the budgets from now on.
    pub budget_seconds: u64,
    /// Kernels, options: whatever the service wants to know of it later (JSON).
    pub order: Value,
}

/// A job as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub new: NewJob,
    pub state: JobState,
    /// Increases with every transition; what compare-and-set compares.
    pub version: u64,
    /// The newest lease, current while the state is held.
    pub lease: Option<Lease>,
    /// Leases that were given.
    pub attempts: u32,
    /// Seconds of wall clock that were really spent, once it is over.
    pub spent_seconds: Option<u64>,
    /// What people are shown of a search under way (JSON).
    pub progress: Value,
    /// What came of it (JSON).
    pub result: Value,
    /// Why it ended, where that needs a reason.
    pub reason: String,
    pub created: Millis,
    pub updated: Millis,
}

/// Whose spending is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpentOn {
    Pull(PullKey),
    /// In one installation.
    User {
        installation: u64,
        login: String,
    },
    Installation(u64),
}

/// Seconds of wall clock: spent where jobs are over, granted where they are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub seconds: u64,
    pub jobs: u64,
}

/// Keeps jobs.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// Keeps all of a change, or nothing where one of its jobs is not where it was thought to be.
    async fn apply(&self, change: &Change, now: Millis) -> Result<Applied, StoreError>;

    async fn job(&self, id: &JobId) -> Result<Option<Job>, StoreError>;

    /// All jobs of a pull request, the newest first.
    async fn jobs_of(&self, pull: PullKey) -> Result<Vec<Job>, StoreError>;

    /// Jobs in one of `states`, the oldest first.
    async fn jobs_in(&self, states: &[JobState], at_most: u32) -> Result<Vec<Job>, StoreError>;

    /// How many jobs there are in each state that has any.
    async fn count_jobs(&self) -> Result<Vec<(JobState, u64)>, StoreError>;

    /// Gives `runner` the oldest queued job that asks for one of its `labels` or for none: leased,
    /// with the next fence, until `until`. Two runners never get the same.
    async fn lease(
        &self,
        runner: &str,
        labels: &[String],
        now: Millis,
        until: Millis,
    ) -> Result<Option<Job>, StoreError>;

    /// Prolongs a lease and keeps what there is to show; `false` where the lease is lost: the runner
    /// stops and throws away what it has.
    async fn heartbeat(
        &self,
        id: &JobId,
        fence: u64,
        until: Millis,
        progress: Option<&Value>,
        now: Millis,
    ) -> Result<bool, StoreError>;

    /// Jobs whose lease ran out before `now`.
    async fn lost_leases(&self, now: Millis) -> Result<Vec<Job>, StoreError>;

    /// What was spent by jobs created since `since`.
    async fn spent(&self, on: &SpentOn, since: Millis) -> Result<Spent, StoreError>;

    /// Takes or prolongs the right to be the only one of its name until `until`; `false` while
    /// somebody else has it.
    async fn lead(
        &self,
        name: &str,
        owner: &str,
        now: Millis,
        until: Millis,
    ) -> Result<bool, StoreError>;
}
