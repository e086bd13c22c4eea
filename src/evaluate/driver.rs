//! Quiet in the device's driver. Creating and ending contexts, taking memory and loading binaries
//! share locks there, and the launches of whoever is timed can wait for them.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::sync::{Notify, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Longer than a context takes to end; one that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Those who stir the driver do it side by side, and none of them while somebody asks for quiet.
#[derive(Debug, Default)]
pub(super) struct Driver {
    stirring: RwLock<()>,
    /// Children that were killed and are not gone.
    ending: AtomicUsize,
    ended: Notify,
}

/// Held from the moment a child is killed until it is gone.
#[derive(Debug)]
pub(super) struct Ending<'d>(&'d Driver);

impl Driver {
    /// Held while a child does something that takes the driver's locks. Nothing that whoever has
    /// quiet may hold is to be waited for meanwhile: no turn, no place on deck.
    pub(super) async fn stir(&self) -> RwLockReadGuard<'_, ()> {
        self.stirring.read().await
    }

    /// Waits until nobody stirs the driver, and keeps it so.
    pub(super) async fn quiet(&self) -> RwLockWriteGuard<'_, ()> {
        self.stirring.write().await
    }

    /// A child is ending.
    pub(super) fn ending(&self) -> Ending<'_> {
        self.ending.fetch_add(1, Ordering::SeqCst);
        Ending(self)
    }

    /// Waits until the children that had the turn before are gone, but not for ever.
    pub(super) async fn settled(&self) {
        let gone = async {
            loop {
                let ended = self.ended.notified();
                if self.ending.load(Ordering::SeqCst) == 0 {
                    return;
                }
                ended.await;
            }
        };
        tokio::time::timeout(PATIENCE, gone).await.ok();
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ending.fetch_sub(1, Ordering::SeqCst);
        self.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_needs_quiet_waits_for_those_that_end() {
        let driver = Driver::default();
        driver.settled().await;
        let ending = driver.ending();
        let mut waiting = std::pin::pin!(driver.settled());
        let passing = tokio::time::timeout(Duration::from_millis(20), &mut waiting).await;
        assert!(passing.is_err(), "a child is still there");
        drop(ending);
        waiting.await;
        let stirring = driver.stir().await;
        let quiet = tokio::time::timeout(Duration::from_millis(20), driver.quiet()).await;
        assert!(quiet.is_err(), "somebody stirs");
        drop(stirring);
        drop(driver.quiet().await);
    }
}
