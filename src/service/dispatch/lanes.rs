//! Which installations are left in peace, and until when. A limit outlives the process that met it, so
//! it stands in the database: as the holder of the right to write there, until it is over.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::store::{
    StoreError,
    service::{Millis, ServiceStore},
};

/// When each installation may be written to, as far as this process has asked.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<HashMap<u64, Millis>>);

/// In whose hands a lane is.
const OPEN: &str = "dispatcher";
const CLOSED: &str = "limit";

impl Lanes {
    pub(super) async fn is_open(
        &self,
        store: &dyn ServiceStore,
        installation: u64,
        now: Millis,
    ) -> Result<bool, StoreError> {
        if let Some(closed_until) = self.known().get(&installation) {
            return Ok(*closed_until <= now);
        }
        // Another process may have met a limit before this one began.
        let open = store.lead(&lane(installation), OPEN, now, now).await?;
        if open {
            self.known().insert(installation, now);
        }
        Ok(open)
    }

    pub(super) async fn close(
        &self,
        store: &dyn ServiceStore,
        installation: u64,
        now: Millis,
        until: Millis,
    ) -> Result<(), StoreError> {
        self.known().insert(installation, until);
        store.lead(&lane(installation), CLOSED, now, until).await.map(drop)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Millis>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lane(installation: u64) -> String {
    format!("writes to {installation}")
}
