//! The service's sense of time, passed in.

use std::{
    fmt::Debug,
    time::{Duration, SystemTime},
};

use crate::store::service::Millis;

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    fn now(&self) -> Millis;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        millis(SystemTime::now())
    }
}

/// Milliseconds since 1970.
pub fn millis(time: SystemTime) -> Millis {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// A duration in milliseconds.
pub fn in_millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}
