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

/// The right to be the one that works, how long it lasts, and how often it is prolonged.
const RIGHT: &str = "backstage";
const LEAD: Duration = Duration::from_secs(15);
const LEAD_EVERY: Duration = Duration::from_secs(3);
/// How long what is under way may take when it is asked to stop.
const FINISH: Duration = Duration::from_secs(5);
/// How far back missed deliveries are asked for: GitHub keeps them for three days.
const RECOVER: Duration = Duration::from_secs(2 * 24 * 3600);
const FORGET_EVERY: Duration = Duration::from_secs(3600);
/// How long deliveries are let to gather: in a rush many of them are handled by one transaction then.
const GATHER: Duration = Duration::from_millis(20);

impl Backstage {
    /// Works until told to stop.
    pub async fn run(self, stop: Stop) {
        while !stop.requested() {
            if self.leads().await && self.lead(&stop).await {
                self.hand_over().await;
            }
            self.nap(&stop).await;
        }
    }

    /// Works as long as this is the one that does; whether it has ended in order, with nothing under way.
    async fn lead(&self, stop: &Stop) -> bool {
        let over = Notify::new();
        let working = async {
            self.work(stop).await;
            over.notify_one();
            std::future::pending().await
        };
        let mut asked = stop.clone();
        let too_late = async {
            asked.wait().await;
            tokio::time::sleep(FINISH).await;
        };
        tokio::select! {
            ended = self.stay(&over) => ended,
            () = working => false,
            // What is under way ends with its future: everything can end at any moment.
            () = too_late => false,
        }
    }

    /// Ends when it is asked to stop and what was begun by then is done.
    async fn work(&self, stop: &Stop) {
        tokio::join!(
            self.take_in(stop),
            self.dispatch(stop),
            self.look_after(stop),
            self.recover(stop)
        );
    }

    /// Another service need not wait until the right runs out.
    async fn hand_over(&self) {
        let now = self.clock.now();
        if let Err(error) = self.store.lead(RIGHT, &self.options.owner, now, now).await {
            tracing::warn!(%error, "another service waits until it is seen that this one has ended");
        }
    }

    /// Prolongs the right until the work is over (`true`), or somebody else leads.
    async fn stay(&self, over: &Notify) -> bool {
        loop {
            tokio::select! {
                () = over.notified() => return true,
                () = tokio::time::sleep(LEAD_EVERY) => {}
            }
            if !self.leads().await {
                tracing::warn!("another service works now");
                return false;
            }
        }
    }

    async fn leads(&self) -> bool {
        let now = self.clock.now();
        let until = now + in_millis(LEAD);
        match self.store.lead(RIGHT, &self.options.owner, now, until).await {
            Ok(leads) => leads,
            Err(error) => {
                tracing::warn!(%error, "cannot ask who works");
                false
            }
        }
    }

    async fn take_in(&self, stop: &Stop) {
        while !stop.requested() {
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
        while !stop.requested() {
            match self.dispatcher.step().await {
                Ok(true) => {}
                Ok(false) => self.nap(stop).await,
                Err(error) => self.stumble("effects", &error, stop).await,
            }
        }
    }

    async fn look_after(&self, stop: &Stop) {
        let mut forgot: Option<Instant> = None;
        while !stop.requested() {
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
            sleep(self.options.look_every, stop).await;
        }
    }

    async fn recover(&self, stop: &Stop) {
        while !stop.requested() && !self.options.recover_every.is_zero() {
            let mut asked = stop.clone();
            let recovered = tokio::select! {
                recovered = recover_deliveries(&self.github, SystemTime::now(), RECOVER) => recovered,
                // What was not asked for again is asked for by the next one.
                () = asked.wait() => return,
            };
            match recovered {
                Ok(0) => {}
                Ok(asked) => tracing::info!(asked, "asked for missed deliveries again"),
                Err(error) => tracing::warn!(%error, "cannot ask for missed deliveries"),
            }
            sleep(self.options.recover_every, stop).await;
        }
    }

    async fn nap(&self, stop: &Stop) {
        self.nap_until(&self.bell, stop).await;
    }

    async fn nap_until(&self, bell: &Notify, stop: &Stop) {
        tokio::select! {
            () = bell.notified() => {}
            () = sleep(self.options.look_every, stop) => {}
        }
    }

    async fn stumble(&self, what: &str, error: &StoreError, stop: &Stop) {
        tracing::error!(%error, "cannot work off {what}");
        self.nap(stop).await;
    }
}

/// Sleeps for `time`, or until asked to stop.
async fn sleep(time: Duration, stop: &Stop) {
    let mut stop = stop.clone();
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = stop.wait() => {}
    }
}
