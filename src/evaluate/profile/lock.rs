//! One profiler at a time on this machine: two would fight over the same counters.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    time::Duration,
};

use rustix::fs::OFlags;
use tokio::time::Instant;

const FILE: &str = "kernelbrain-profiler.lock";
const PAUSE: Duration = Duration::from_millis(50);

/// Held while a GPU's counters are read.
#[derive(Debug)]
pub(super) struct ProfilerLock {
    _file: Option<File>,
}

/// Waits for the lock for at most `patience`; `None` if others had it all the time. Where the file
/// cannot be made or opened (another user's), it goes without.
pub(super) async fn take(patience: Duration) -> Option<ProfilerLock> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0))
        .open(std::env::temp_dir().join(FILE));
    let Ok(file) = opened else { return Some(ProfilerLock { _file: None }) };
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => {
                return Some(ProfilerLock { _file: Some(file) });
            }
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                tokio::time::sleep(PAUSE).await;
            }
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}
