//! Quiet in the device's driver. Creating and ending contexts, taking memory and loading binaries
//! share locks there, and the launches of whoever is timed can wait for them.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Those who stir the driver do it side by side, and none of them while somebody asks for quiet.
#[derive(Debug, Default)]
pub(super) struct Driver(RwLock<()>);

impl Driver {
    /// Held while a child does something that takes the driver's locks. Nothing that whoever has
    /// quiet may hold is to be waited for meanwhile: no turn, no place on deck.
    pub(super) async fn stir(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().await
    }

    /// Waits until nobody stirs the driver, and keeps it so.
    pub(super) async fn quiet(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().await
    }
}
