//! How long to leave an installation in peace where GitHub asks for less and names no time: a minute,
//! doubled with every refusal in a row.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use super::{error::doubled, throttle::Limit};

const FIRST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Refusals in a row that named no time, by installation.
#[derive(Debug, Default)]
pub(super) struct Patience(Mutex<HashMap<u64, Row>>);

#[derive(Clone, Copy, Debug)]
struct Row {
    refusals: u32,
    until: SystemTime,
}

impl Patience {
    /// Until when `installation` is to be left in peace.
    pub(super) fn until(&self, installation: u64, limit: Limit, now: SystemTime) -> SystemTime {
        if let Limit::Named(wait) = limit {
            return now + wait;
        }
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.entry(installation).or_insert(Row { refusals: 0, until: now });
        // What was on its way already when the first was refused is no further warning.
        if now >= row.until {
            let over = now.duration_since(row.until).is_ok_and(|since| since > LONGEST);
            row.refusals = if over { 1 } else { row.refusals + 1 };
            row.until = now + doubled(FIRST, row.refusals, LONGEST);
        }
        row.until
    }

    /// A write that was done ends the row; so does an hour without a refusal.
    pub(super) fn reset(&self, installation: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&installation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_while_github_refuses() {
        let patience = Patience::default();
        let mut now = SystemTime::UNIX_EPOCH;
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            let until = patience.until(7, Limit::Unnamed, now);
            assert_eq!(until, now + Duration::from_secs(60 * minutes));
            // A second refusal within the wait changes nothing.
            assert_eq!(patience.until(7, Limit::Unnamed, now + Duration::from_secs(1)), until);
            now = until;
        }
        let minute = now + Duration::from_secs(60);
        assert_eq!(patience.until(8, Limit::Unnamed, now), minute, "each installation its own");
        patience.reset(7);
        assert_eq!(patience.until(7, Limit::Unnamed, now), minute);
        let much_later = now + 3 * LONGEST;
        assert_eq!(patience.until(8, Limit::Unnamed, much_later), much_later + FIRST);
    }

    #[test]
    fn a_time_that_is_named_is_the_time() {
        let now = SystemTime::UNIX_EPOCH;
        let wait = Duration::from_secs(17);
        assert_eq!(Patience::default().until(7, Limit::Named(wait), now), now + wait);
    }
}
