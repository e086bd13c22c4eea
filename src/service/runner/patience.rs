//! Trouble with the checkout that passes: GitHub, the network, a service that is being updated.

use std::time::{Duration, Instant};

use super::{Runner, steps::Trouble, workspace::Workspace};
use crate::{repo::RepoError, store::service::Job};

/// How long a runner tries to check a job's commit out, and the waits between two tries.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

impl Runner {
    /// Keeps the job while GitHub or the service is in trouble: a service that is updated must not use up
    /// the attempts of every job that waits.
    pub(super) async fn check_out_patiently(
        &self,
        job: &Job,
        fence: u64,
        workspace: &Workspace,
    ) -> Result<Vec<String>, Trouble> {
        let begun = Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            match self.check_out(job, fence, workspace).await {
                Err(Trouble::Passing(reason)) if begun.elapsed() < PATIENCE => {
                    tracing::info!(job = %job.new.id, reason, "tries the checkout again");
                    tokio::time::sleep(wait).await;
                    wait = (2 * wait).min(LONGEST_WAIT);
                }
                other => return other,
            }
        }
    }
}

/// Whether another try may go better, with a fresh token or on another host.
pub(super) fn may_pass(error: &RepoError) -> bool {
    error.may_pass() || matches!(error, RepoError::Unauthorised { .. } | RepoError::File { .. })
}
