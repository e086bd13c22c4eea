//! The journal.

use async_trait::async_trait;
use kernelbrain::search::{
    Event,
    ports::{Journal, JournalError},
};

/// A journal in memory that can be cut off, as by a kill.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) events: Vec<Event>,
    /// Appends that are kept before it fails; the one that fails keeps nothing.
    pub(crate) dies_after: Option<usize>,
}

#[async_trait]
impl Journal for Memory {
    async fn append(&mut self, events: &[Event]) -> Result<(), JournalError> {
        match &mut self.dies_after {
            Some(0) => return Err(JournalError("killed".into())),
            Some(left) => *left -= 1,
            None => {}
        }
        self.events.extend_from_slice(events);
        Ok(())
    }
}
