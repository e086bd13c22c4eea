//! The search's journal, kept in a store.

use std::{fmt, sync::Arc};

use async_trait::async_trait;

use crate::{
    kernel::Event,
    search::ports::{Journal, JournalError},
    store::RunStore,
};

/// Appends to one run's journal.
#[derive(Clone)]
pub struct StoredJournal {
    store: Arc<dyn RunStore>,
    run: String,
}

impl StoredJournal {
    pub fn new(store: Arc<dyn RunStore>, run: impl Into<String>) -> Self {
        Self { store, run: run.into() }
    }
}

impl fmt::Debug for StoredJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredJournal").field("run", &self.run).finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for StoredJournal {
    async fn append(&mut self, events: &[Event]) -> Result<(), JournalError> {
        self.store.append(&self.run, events).await.map_err(|error| JournalError(error.to_string()))
    }
}
