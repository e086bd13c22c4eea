//! Webhook deliveries as GitHub remembers them, for three days.

use std::{collections::HashSet, time::SystemTime};

use serde::Deserialize;

use super::{
    Result, paging, route,
    session::{As, Session},
    time,
    transport::Answer,
};

/// One attempt to deliver an event.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct HookDelivery {
    /// Of this attempt; what [`super::GitHub::redeliver`] takes.
    pub id: u64,
    /// Of the event (`X-GitHub-Delivery`): the same in all its attempts.
    pub guid: String,
    #[serde(deserialize_with = "time::moment")]
    pub delivered_at: SystemTime,
    #[serde(default)]
    pub redelivery: bool,
    pub event: String,
    #[serde(default)]
    pub action: Option<String>,
    /// In words.
    pub status: String,
    /// What we answered; 0 where there was no answer.
    pub status_code: u16,
    #[serde(default)]
    pub installation_id: Option<u64>,
    #[serde(default)]
    pub repository_id: Option<u64>,
}

impl HookDelivery {
    /// Whether it arrived: GitHub calls every answer below 400 a success.
    #[must_use]
    pub fn arrived(&self) -> bool {
        (200..400).contains(&self.status_code)
    }
}

pub(super) async fn failed(session: &Session, since: SystemTime) -> Result<Vec<HookDelivery>> {
    let url = session
        .address
        .rest(&format!("/app/hook/deliveries{}", route::query([("per_page", "100")])));
    // Newest first, so an attempt that arrived is seen no later than the one it makes up for.
    let older = |seen: &[HookDelivery]| seen.last().is_some_and(|last| last.delivered_at < since);
    let seen = paging::collect(session, As::App, url, page, older).await?;
    let mut settled: HashSet<&str> = seen
        .iter()
        .filter(|attempt| attempt.arrived())
        .map(|attempt| attempt.guid.as_str())
        .collect();
    let mut failed: Vec<HookDelivery> = seen
        .iter()
        .filter(|attempt| attempt.delivered_at >= since && settled.insert(&attempt.guid))
        .cloned()
        .collect();
    failed.reverse();
    Ok(failed)
}

fn page(answer: &Answer) -> Result<Vec<HookDelivery>> {
    answer.json()
}
