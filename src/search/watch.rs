//! Looking on, and asking to stop.

use std::fmt;

use tokio::sync::watch;

use super::{Event, State};

/// Sees every event after it was kept and applied; for a live view.
pub trait Observer: Send {
    fn observe(&mut self, state: &State, event: &Event);
}

impl<F: FnMut(&State, &Event) + Send> Observer for F {
    fn observe(&mut self, state: &State, event: &Event) {
        self(state, event);
    }
}

/// Asks a search to stop; a [`Stop`] hears it.
#[derive(Debug)]
pub struct StopSwitch(watch::Sender<bool>);

impl StopSwitch {
    /// Nothing new is begun from now on, and what is under way is left to a later session.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// Hears when somebody asks to stop.
#[derive(Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    pub fn new() -> (StopSwitch, Self) {
        let (sender, receiver) = watch::channel(false);
        (StopSwitch(sender), Self(receiver))
    }

    /// For a search that nobody stops.
    pub fn never() -> Self {
        Self::new().1
    }

    pub fn requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when it is asked to stop; never, if nobody can ask any more.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.requested()).finish()
    }
}
