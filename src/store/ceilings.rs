//! The concern "ceilings": what devices were measured to reach, so that it is measured once.

use std::time::SystemTime;

use async_trait::async_trait;

use super::StoreError;
use crate::kernel::Ceilings;

/// What ceilings hold for. Another driver or other clocks are another measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CeilingKey {
    /// UUID of the GPU, or of the instance of a split one.
    pub gpu: String,
    pub driver: String,
    /// Highest clocks of multiprocessors and memory.
    pub clocks: String,
}

/// The way of measuring; raised when figures of an earlier one are no longer comparable.
pub(super) const REVISION: i64 = 1;

/// Keeps the last ceilings of every device.
#[async_trait]
pub trait CeilingStore: Send + Sync {
    /// In the place of what was kept under the same key.
    async fn put_ceilings(
        &self,
        key: &CeilingKey,
        ceilings: &Ceilings,
        measured: SystemTime,
    ) -> Result<(), StoreError>;

    /// What was kept under `key`; `None` also for what an earlier way of measuring gave.
    async fn find_ceilings(&self, key: &CeilingKey) -> Result<Option<Ceilings>, StoreError>;
}
