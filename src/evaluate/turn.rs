//! The GPU turn: an exclusive lock per GPU that covers every launch.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use tokio::sync::{Mutex, OwnedMutexGuard};

/// Hands out the GPU to one evaluation at a time, first come first served.
#[derive(Clone, Debug, Default)]
pub(crate) struct GpuTurn {
    lock: Arc<Mutex<()>>,
    held_us: Arc<AtomicU64>,
}

/// Holding it is having the GPU.
#[derive(Debug)]
pub(crate) struct Turn {
    since: Instant,
    held_us: Arc<AtomicU64>,
    _guard: OwnedMutexGuard<()>,
}

impl GpuTurn {
    pub(crate) async fn take(&self) -> Turn {
        let guard = Arc::clone(&self.lock).lock_owned().await;
        Turn { since: Instant::now(), held_us: Arc::clone(&self.held_us), _guard: guard }
    }

    /// Seconds for which the GPU was held so far, ended turns only.
    pub(crate) fn held_seconds(&self) -> f64 {
        self.held_us.load(Ordering::Relaxed) as f64 * 1e-6
    }
}

impl Turn {
    /// Seconds since it was taken.
    pub(crate) fn seconds(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let micros = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.held_us.fetch_add(micros, Ordering::Relaxed);
    }
}
