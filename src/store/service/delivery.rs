//! Webhook deliveries, each kept before GitHub is told that it arrived.

use async_trait::async_trait;

use super::Millis;
use crate::store::StoreError;

/// A delivery as it came in; its signature was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// `X-GitHub-Delivery`; a redelivery has that of the first.
    pub id: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The raw body.
    pub body: Vec<u8>,
    pub received: Millis,
}

/// What became of a delivery that is handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    New,
    /// It was known and is done or waits for its turn.
    Known,
    /// It was known and had failed: it gets another chance.
    Again,
}

/// How far a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    Received,
    Done,
    /// Given up; GitHub may deliver it again.
    Failed,
}

/// A delivery that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub receipt: Receipt,
    /// Times that it was tried before.
    pub attempts: u32,
}

/// Keeps deliveries.
#[async_trait]
pub trait DeliveryStore: Send + Sync {
    /// Keeps deliveries, durably: once this returns they survive the loss of power. One transaction
    /// for all (group commit); the answers are in the order of `receipts`.
    async fn receive(&self, receipts: &[Receipt]) -> Result<Vec<Inserted>, StoreError>;

    /// The oldest deliveries that wait and are due at `now`, in the order in which they came.
    async fn deliveries_due(&self, now: Millis, at_most: u32) -> Result<Vec<Delivery>, StoreError>;

    /// Those of these deliveries that wait are done, all in one transaction: they ask for nothing, and what
    /// a delivery asks for is kept with it, as a [`super::Change`]. Bodies of deliveries that are done are
    /// not kept.
    async fn deliveries_done(&self, ids: &[&str], now: Millis) -> Result<(), StoreError>;

    /// The delivery could not be handled now: it is due again at `due`, or [`DeliveryState::Failed`]
    /// where that is `None`.
    async fn postpone_delivery(
        &self,
        id: &str,
        due: Option<Millis>,
        error: &str,
    ) -> Result<(), StoreError>;

    /// State of a delivery; `None` for an unknown one.
    async fn delivery_state(&self, id: &str) -> Result<Option<DeliveryState>, StoreError>;

    /// Deletes deliveries that ended before `before`; how many. A failed one ended
    /// when its last try was due.
    async fn forget_deliveries(&self, before: Millis) -> Result<u64, StoreError>;
}
