//! How much of an installation's hourly quota is left, as the last answer said.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use http::HeaderMap;

use super::{throttle, time};

/// What is left of the requests of this hour. Where it runs low, progress is what to drop first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub limit: u32,
    pub remaining: u32,
    /// When it is full again, by GitHub's clock.
    pub resets: SystemTime,
}

#[derive(Debug, Default)]
pub(super) struct Quotas(Mutex<HashMap<u64, Quota>>);

impl Quotas {
    /// Remembers what an answer to `installation` says.
    pub(super) fn learn(&self, installation: u64, headers: &HeaderMap) {
        if let Some(quota) = read(headers) {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(installation, quota);
        }
    }

    pub(super) fn of(&self, installation: u64) -> Option<Quota> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&installation).copied()
    }
}

fn read(headers: &HeaderMap) -> Option<Quota> {
    let number = |name| throttle::text(headers, name)?.parse::<u64>().ok();
    Some(Quota {
        limit: u32::try_from(number("x-ratelimit-limit")?).ok()?,
        remaining: u32::try_from(number("x-ratelimit-remaining")?).ok()?,
        resets: time::from_seconds(number("x-ratelimit-reset")?),
    })
}
