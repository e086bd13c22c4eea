//! The passing of time, recorded beside something that is awaited.

use super::{Limit, SearchError, Stop, driver::TICK, recorder::Recorder};

/// How long time is kept.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Until {
    /// It is asked to stop.
    Stopped,
    /// Or the limit of wall clock is reached.
    WallLimit,
}

/// Records the passing of time, beside a future that is awaited, until that must be given up.
pub(super) async fn timekeeping(
    recorder: &mut Recorder<'_>,
    stop: &mut Stop,
    until: Until,
) -> SearchError {
    loop {
        let stopped = tokio::select! {
            biased;
            () = stop.wait() => true,
            () = tokio::time::sleep(TICK) => false,
        };
        if let Err(error) = recorder.tick().await {
            return error;
        }
        if stopped {
            return SearchError::Interrupted;
        }
        if until == Until::WallLimit && recorder.state.remaining().wall_seconds == Some(0.0) {
            return SearchError::BudgetEndedBeforeBaseline { limit: Limit::WallClock };
        }
    }
}
