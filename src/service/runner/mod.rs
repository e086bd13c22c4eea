//! Works off jobs on the host that has the GPU.
//!
//! ```text
//! lease ─► token ─► fetch and check out exactly the approved commit ─► running
//!   ─► for each kernel: `kernelbrain optimize` as a child process without secrets
//!        meanwhile: heartbeat with progress, copy of its journal at every rung
//!   ─► results kept ─► measured
//! ```
//!
//! The lease is all that ties a job to a runner. Whatever ends a job (a command, a push, another runner)
//! takes the lease away; the next heartbeat sees it and the child process is killed with all of its own.

mod grants;
mod outcome;
mod patience;
mod search;
mod steps;
mod workspace;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::task::JoinSet;

pub use grants::{Grant, GrantAnswer, GrantError, GrantRequest, Grants, LocalGrants, RemoteGrants};
pub use search::EngineCommand;

use super::clock::{Clock, in_millis};
use crate::{
    search::Stop,
    store::{StoreError, service::ServiceStore},
};

/// What a runner is told by its configuration.
#[derive(Clone, Debug)]
pub struct RunnerOptions {
    /// Its name in the list of leases; two runners have different ones.
    pub name: String,
    /// What jobs may ask for.
    pub labels: Vec<String>,
    /// Where mirrors, workspaces and its database lie.
    pub folder: PathBuf,
    pub engine: EngineCommand,
    /// How long a lease lasts without a heartbeat, and how often there is one.
    pub lease: Duration,
    pub heartbeat: Duration,
    /// Times that a job is begun before it is given up.
    pub attempts: u32,
    /// How often it looks for a job.
    pub look: Duration,
    /// Most bytes that are received of a repository, and that a checkout may have.
    pub fetch_bytes: u64,
    pub checkout_bytes: u64,
}

/// Works off jobs until it is told to stop.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports are trait objects")]
pub struct Runner {
    pub(super) store: Arc<dyn ServiceStore>,
    pub(super) grants: Arc<dyn Grants>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) options: Arc<RunnerOptions>,
}

impl Runner {
    pub fn new(
        store: Arc<dyn ServiceStore>,
        grants: Arc<dyn Grants>,
        clock: Arc<dyn Clock>,
        options: RunnerOptions,
    ) -> Self {
        Self { store, grants, clock, options: Arc::new(options) }
    }

    /// Takes one job after the other. Told to stop, it gives up its lease at once: another runner, or this
    /// one the next time, goes on from the copy.
    pub async fn run(&self, mut stop: Stop) {
        workspace::sweep(&self.options.folder);
        let mut work = JoinSet::new();
        loop {
            if stop.requested() {
                break;
            }
            match self.lease().await {
                Ok(Some(job)) => {
                    let (runner, stop) = (self.clone(), stop.clone());
                    work.spawn(async move { runner.carry_out(job, stop).await });
                    // One at a time: a GPU that two searches share measures neither.
                    while work.join_next().await.is_some() {}
                    continue;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "cannot look for jobs"),
            }
            tokio::select! {
                () = tokio::time::sleep(self.options.look) => {}
                () = stop.wait() => {}
            }
        }
    }

    async fn lease(&self) -> Result<Option<crate::store::service::Job>, StoreError> {
        let now = self.clock.now();
        let until = now + in_millis(self.options.lease);
        self.store.lease(&self.options.name, &self.options.labels, now, until).await
    }
}
