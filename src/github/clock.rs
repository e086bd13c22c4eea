//! The wall clock, passed in: tokens expire by it, and waiting goes through it.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;

/// What tells the time and lets it pass.
#[async_trait]
pub trait WallClock: Send + Sync {
    fn now(&self) -> SystemTime;

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemWallClock;

impl WallClock for SystemWallClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
