//! Writes to one installation follow one another at a distance: GitHub asks for a second, and takes more
//! haste for abuse.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Mutex as AsyncMutex, time::Instant};

type Lane = Arc<AsyncMutex<Option<Instant>>>;

/// The lanes, by installation.
#[derive(Debug, Default)]
pub(super) struct Pace {
    milliseconds: AtomicU64,
    lanes: Mutex<HashMap<u64, Lane>>,
}

impl Pace {
    pub(super) fn set(&self, interval: Duration) {
        let milliseconds = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        self.milliseconds.store(milliseconds, Ordering::Relaxed);
    }

    /// Waits for the turn of a write; the next one's is an interval later.
    pub(super) async fn turn(&self, installation: u64) {
        let interval = Duration::from_millis(self.milliseconds.load(Ordering::Relaxed));
        if interval.is_zero() {
            return;
        }
        let lane = {
            let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(lanes.entry(installation).or_default())
        };
        let mut last = lane.lock().await;
        if let Some(last) = *last {
            tokio::time::sleep_until(last + interval).await;
        }
        *last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn writes_keep_their_distance_within_an_installation() {
        let pace = Pace::default();
        let begun = Instant::now();
        pace.turn(1).await;
        pace.turn(1).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "not asked for");
        pace.set(Duration::from_secs(1));
        pace.turn(1).await;
        pace.turn(2).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "another installation does not wait");
        pace.turn(1).await;
        pace.turn(1).await;
        assert_eq!(begun.elapsed().as_secs(), 2);
        tokio::time::sleep(Duration::from_secs(5)).await;
        pace.turn(1).await;
        assert_eq!(begun.elapsed().as_secs(), 7, "whoever comes late does not wait");
    }
}
