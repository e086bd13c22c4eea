//! The concern "exchanges": what was said between a run and language models.

use async_trait::async_trait;
use serde_json::Value;

use super::StoreError;
use crate::kernel::{CandidateId, RequestKind};

/// Which request of a run an exchange is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExchangeKey {
    /// The candidate that is rewritten or repaired.
    pub parent: CandidateId,
    /// The rung that it was promoted from; `None` at the start of a run and for repairs.
    pub rung: Option<usize>,
    pub kind: RequestKind,
}

/// An exchange as it is kept. What it says is the affair of whoever had it.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptExchange {
    pub key: ExchangeKey,
    pub body: Value,
}

/// Keeps the exchanges of runs.
#[async_trait]
pub trait ExchangeStore: Send + Sync {
    /// In the place of what was kept under the same key.
    async fn keep_exchange(&self, run: &str, exchange: &KeptExchange) -> Result<(), StoreError>;

    /// Those of a run, in the order in which they were first kept.
    async fn exchanges(&self, run: &str) -> Result<Vec<KeptExchange>, StoreError>;
}
