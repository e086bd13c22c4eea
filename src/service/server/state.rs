//! What handlers share.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::SecretString;
use tokio::sync::Notify;

use super::receive::Receiver;
use crate::{
    service::{clock::Clock, runner::Grants},
    store::service::{JobState, ServiceStore},
};

/// What handlers share.
#[expect(missing_debug_implementations, reason = "ports are trait objects")]
pub struct ServiceState {
    pub store: Arc<dyn ServiceStore>,
    pub clock: Arc<dyn Clock>,
    /// Secrets of the webhook: any of them will do.
    pub secrets: Vec<SecretString>,
    /// Where verified deliveries go.
    pub receiver: Receiver,
    /// Rung when there is something to do.
    pub bell: Arc<Notify>,
    /// Tokens for runners on other hosts, and what these have to show.
    pub grants: Arc<dyn Grants>,
    pub runner_secret: Option<SecretString>,
    pub metrics: Option<PrometheusHandle>,
}

impl ServiceState {
    /// Brings what is counted in the database up to date.
    pub(super) async fn measure(&self) {
        if let Ok(counted) = self.store.count_jobs().await {
            for state in JobState::ALL {
                let count = counted.iter().find(|(counted, _)| *counted == state);
                let count = count.map_or(0, |(_, count)| *count);
                metrics::gauge!("kernelbrain_jobs", "state" => state.name()).set(count as f64);
            }
        }
        if let Ok(owed) = self.store.owed().await {
            metrics::gauge!("kernelbrain_effects_owed").set(owed as f64);
        }
    }
}
