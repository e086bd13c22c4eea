//! Keeps events before anything is done about them.

use super::{
    Event, Observer, SearchError, State,
    ports::{Clock, Journal},
};

/// The way from a decision to the state: journal, fold, observer, in this order.
pub(super) struct Recorder<'a> {
    pub(super) state: &'a mut State,
    journal: &'a mut dyn Journal,
    clock: &'a dyn Clock,
    observer: &'a mut dyn Observer,
    /// The moment up to which wall clock is accounted for.
    accounted: f64,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        state: &'a mut State,
        journal: &'a mut dyn Journal,
        clock: &'a dyn Clock,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let accounted = clock.seconds();
        Self { state, journal, clock, observer, accounted }
    }

    pub(super) async fn record(&mut self, events: &[Event]) -> Result<(), SearchError> {
        self.journal.append(events).await?;
        for event in events {
            self.state.apply(event)?;
            self.observer.observe(self.state, event);
        }
        Ok(())
    }

    /// Seconds that passed since the last event that carries wall clock.
    pub(super) fn unrecorded(&self) -> f64 {
        (self.clock.seconds() - self.accounted).max(0.0)
    }

    /// The same, for an event that now carries them.
    pub(super) fn take_unrecorded(&mut self) -> f64 {
        let passed = self.unrecorded();
        self.accounted += passed;
        passed
    }

    /// Records the time that passed, if any did.
    pub(super) async fn tick(&mut self) -> Result<(), SearchError> {
        let wall_seconds = self.take_unrecorded();
        if wall_seconds > 0.0 {
            self.record(&[Event::Ticked { wall_seconds }]).await?;
        }
        Ok(())
    }
}
