//! The loops behind the routes. Of several services on one database, one works at a time.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio::sync::Notify;

use crate::{
    github::GitHub,
    search::Stop,
    service::{
        clock::{Clock, in_millis},
        dispatch::Dispatcher,
        intake::Intake,
        upkeep::{Upkeep, recover_deliveries},
    },
    store::{StoreError, service::ServiceStore},
};

/// How the loops behave.
#[derive(Clone, Debug)]
pub struct BackstageOptions {
    /// This service among others on the same database.
    pub owner: String,
    pub look_every: Duration,
    pub recover_every: Duration,
    pub remember: Duration,
}

/// Everything that works behind the routes.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports are trait objects")]
pub struct Backstage {
    pub store: Arc<dyn ServiceStore>,
    pub clock: Arc<dyn Clock>,
    pub github: GitHub,
    pub intake: Intake,
    pub dispatcher: Dispatcher,
    pub upkeep: Upkeep,
    /// Rung when deliveries were kept.
    pub arrivals: Arc<Notify>,
    /// Rung when something may follow from what was handled.
    pub bell: Arc<Notify>,
    pub options: BackstageOptions,
}

/// How long the right to be the one that works lasts, and how often it is prolonged.
const LEAD: Duration = Duration::from_secs(15);
const LEAD_EVERY: Duration = Duration::from_secs(3);
/// How far back missed deliveries are asked for: GitHub keeps them for three days.
const RECOVER: Duration = Duration::from_secs(2 * 24 * 3600);
const FORGET_EVERY: Duration = Duration::from_secs(3600);
/// How long deliveries are let to gather: in a rush many of them are handled by one transaction then.
const GATHER: Duration = Duration::from_millis(20);

impl Backstage {
    /// Works until told to stop.
    pub async fn run(self, stop: Stop) {
        loop {
            if stop.requested() {
                return;
            }
            if self.leads().await {
                self.lead(stop.clone()).await;
            }
            self.nap(&stop).await;
        }
    }

    /// Works as long as this is the one that does.
    async fn lead(&self, stop: Stop) {
        let mut others = stop.clone();
        tokio::select! {
            () = self.stay() => tracing::warn!("another service works now"),
            () = self.take_in(&stop) => {}
            () = self.dispatch(&stop) => {}
            () = self.look_after(&stop) => {}
            () = self.recover(&stop) => {}
            // What is under way ends with its future: everything can end at any moment.
            () = others.wait() => {}
        }
    }

    /// Ends when somebody else leads.
    async fn stay(&self) {
        loop {
            tokio::time::sleep(LEAD_EVERY).await;
            if !self.leads().await {
                return;
            }
        }
    }

    async fn leads(&self) -> bool {
        let now = self.clock.now();
        let until = now + in_millis(LEAD);
        match self.store.lead("backstage", &self.options.owner, now, until).await {
            Ok(leads) => leads,
            Err(error) => {
                tracing::warn!(%error, "cannot ask who works");
                false
            }
        }
    }

    async fn take_in(&self, stop: &Stop) {
        loop {
            match self.intake.step().await {
                Ok(taken) if taken.deliveries == 0 => self.nap_until(&self.arrivals, stop).await,
                Ok(taken) => {
                    if taken.followed {
                        self.bell.notify_waiters();
                    }
                    if !taken.is_full() {
                        tokio::time::sleep(GATHER).await;
                    }
                }
                Err(error) => self.stumble("deliveries", &error, stop).await,
            }
        }
    }

    async fn dispatch(&self, stop: &Stop) {
        loop {
            match self.dispatcher.step().await {
                Ok(true) => {}
                Ok(false) => self.nap(stop).await,
                Err(error) => self.stumble("effects", &error, stop).await,
            }
        }
    }

    async fn look_after(&self, stop: &Stop) {
        let mut forgot: Option<Instant> = None;
        loop {
            if let Err(error) = self.upkeep.step().await {
                self.stumble("jobs", &error, stop).await;
            }
            if forgot.is_none_or(|when| when.elapsed() > FORGET_EVERY) {
                forgot = Some(Instant::now());
                let before = self.clock.now() - in_millis(self.options.remember);
                if let Err(error) = self.store.forget_deliveries(before).await {
                    tracing::warn!(%error, "old deliveries stay");
                }
            }
            tokio::time::sleep(self.options.look_every).await;
        }
    }

    async fn recover(&self, _stop: &Stop) {
        if self.options.recover_every.is_zero() {
            std::future::pending::<()>().await;
        }
        loop {
            match recover_deliveries(&self.github, SystemTime::now(), RECOVER).await {
                Ok(0) => {}
                Ok(asked) => tracing::info!(asked, "asked for missed deliveries again"),
                Err(error) => tracing::warn!(%error, "cannot ask for missed deliveries"),
            }
            tokio::time::sleep(self.options.recover_every).await;
        }
    }

    async fn nap(&self, stop: &Stop) {
        self.nap_until(&self.bell, stop).await;
    }

    async fn nap_until(&self, bell: &Notify, stop: &Stop) {
        let mut stop = stop.clone();
        tokio::select! {
            () = bell.notified() => {}
            () = tokio::time::sleep(self.options.look_every) => {}
            () = stop.wait() => {}
        }
    }

    async fn stumble(&self, what: &str, error: &StoreError, stop: &Stop) {
        tracing::error!(%error, "cannot work off {what}");
        self.nap(stop).await;
    }
}
