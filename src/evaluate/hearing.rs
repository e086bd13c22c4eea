//! When a contradiction between a burst's report and the clock outside counts.

use std::time::Duration;

/// How often a burst is looked at before a contradiction counts: a busy host may well delay one.
const LOOKS: u32 = 5;

/// The pause before the second look; it doubles with each, up to 0.4 s. What holds up a host (its
/// share of the processors used up, say) holds up several bursts in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// What is waited for others on the GPU to do something else.
const EXCUSE_PAUSE: Duration = Duration::from_millis(100);

/// How often a contradiction is put down to somebody else who has the GPU as well: then time passes
/// that is no fault of the candidate's.
const EXCUSES: u32 = 12;

/// What follows from a look at a burst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing speaks against it.
    Believed,
    /// Look at another one after a moment, in which whatever delays the host may pass, or others may
    /// finish what they are at.
    Again(Duration),
    /// Others do not leave the GPU: neither believed nor held against the candidate. That they were
    /// there is told beside all results.
    Undecided,
    /// It counts.
    Dishonest(String),
}

/// The looks at one burst so far.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    accused: u32,
    excused: u32,
}

impl Hearing {
    /// Whether a look before has found a contradiction that was not excused.
    pub(super) fn under_suspicion(&self) -> bool {
        self.accused > 0
    }

    /// What follows from the next look; `others` tells whether somebody else keeps the GPU
    /// busy, and is asked only where that matters.
    pub(super) fn hear(
        &mut self,
        accusation: Option<String>,
        others: impl FnOnce() -> bool,
    ) -> Finding {
        let Some(reason) = accusation else { return Finding::Believed };
        if others() {
            self.excused += 1;
            return if self.excused > EXCUSES {
                Finding::Undecided
            } else {
                Finding::Again(EXCUSE_PAUSE)
            };
        }
        self.accused += 1;
        if self.accused < LOOKS {
            return Finding::Again(FIRST_PAUSE * (1 << (self.accused - 1)));
        }
        Finding::Dishonest(format!("{reason}; seen in {LOOKS} bursts of {LOOKS}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accusation() -> Option<String> {
        Some("reported 1 µs, 2 µs passed".to_owned())
    }

    #[test]
    fn a_contradiction_counts_when_every_burst_shows_it_over_some_time() {
        let mut hearing = Hearing::default();
        let mut waited = Duration::ZERO;
        for _ in 1..LOOKS {
            let Finding::Again(pause) = hearing.hear(accusation(), || false) else { panic!() };
            assert!(hearing.under_suspicion() && pause > waited / 2);
            waited += pause;
        }
        assert!(waited > Duration::from_millis(500));
        let Finding::Dishonest(reason) = hearing.hear(accusation(), || false) else { panic!() };
        assert_eq!(reason, "reported 1 µs, 2 µs passed; seen in 5 bursts of 5");
    }

    #[test]
    fn one_good_look_is_enough_and_nobody_is_asked_about() {
        let mut hearing = Hearing::default();
        assert!(matches!(hearing.hear(accusation(), || false), Finding::Again(_)));
        assert_eq!(hearing.hear(None, || panic!("not asked")), Finding::Believed);
    }

    #[test]
    fn what_others_may_have_done_is_held_against_nobody() {
        let mut hearing = Hearing::default();
        for _ in 0..EXCUSES {
            assert_eq!(hearing.hear(accusation(), || true), Finding::Again(EXCUSE_PAUSE));
        }
        assert!(!hearing.under_suspicion());
        assert_eq!(hearing.hear(accusation(), || true), Finding::Undecided);
    }
}
