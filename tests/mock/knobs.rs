//! What a test sets by hand that nobody on GitHub could: how webhooks travel, and which requests
//! fail.

use std::time::Duration;

use super::GitHub;
use super::faults::{Fault, path_matches};
use super::state::Logged;
use super::webhook::{Delivery, seeded};

impl GitHub {
    /// Sends webhooks there from now on, and what waits already.
    pub fn deliver_to(&self, url: &str) {
        self.world().hooks.target = Some(url.to_owned());
        self.inner.wake.notify_one();
    }

    pub fn set_webhook_secret(&self, secret: &str) {
        self.world().hooks.secret = secret.to_owned();
    }

    pub fn webhook_secret(&self) -> String {
        self.world().hooks.secret.clone()
    }

    /// The next `count` deliveries never arrive; GitHub lists them as failed.
    pub fn lose_deliveries(&self, count: usize) {
        self.world().hooks.lose = count;
    }

    /// The next `count` deliveries arrive twice.
    pub fn duplicate_deliveries(&self, count: usize) {
        self.world().hooks.duplicate = count;
    }

    /// Deliveries wait until they are let go.
    pub fn hold_deliveries(&self) {
        self.world().hooks.held = true;
    }

    pub fn release_deliveries(&self) {
        self.world().hooks.held = false;
        self.inner.wake.notify_one();
    }

    /// What waits goes out in an order of the seed's, not its own.
    pub fn reorder_deliveries(&self, seed: u64) {
        self.world().hooks.reorder = Some(seeded(seed));
    }

    /// Every delivery may be lost or come twice, by these chances.
    pub fn unreliable_deliveries(&self, seed: u64, lost: f64, twice: f64) {
        self.world().hooks.chaos = Some((seeded(seed), lost, twice));
    }

    pub fn reliable_deliveries(&self) {
        let mut world = self.world();
        world.hooks.chaos = None;
        world.hooks.reorder = None;
    }

    /// Hands over what waits to a test that carries it by hand; counted as arrived.
    pub fn take_deliveries(&self) -> Vec<Delivery> {
        let mut world = self.world();
        let now = world.now();
        world.hooks.take(now)
    }

    /// Every delivery so far, redeliveries included.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.world().hooks.all.clone()
    }

    /// Sends a delivery once more, as the button on GitHub's page does.
    pub fn redeliver(&self, delivery: u64) {
        let mut world = self.world();
        let id = world.id();
        assert!(world.hooks.redeliver(delivery, id), "no delivery {delivery}");
        drop(world);
        self.inner.wake.notify_one();
    }

    /// Queues a webhook of the test's own making.
    pub fn send_webhook(&self, event: &str, body: &serde_json::Value) {
        let action = body.get("action").and_then(|action| action.as_str()).map(str::to_owned);
        self.world().queue(event, action.as_deref(), None, 0, body.clone());
        self.inner.wake.notify_one();
    }

    /// Waits until nothing is queued or under way.
    pub async fn delivered(&self) {
        self.until("all webhooks are delivered", |github| github.world().hooks.idle()).await;
    }

    /// Waits, at most 30 seconds, until something is so.
    pub async fn until(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let start = std::time::Instant::now();
        while !so(self) {
            if start.elapsed() > Duration::from_secs(30) {
                let writes = self.writes().join("\n");
                panic!("waited in vain until {what}; writes so far:\n{writes}");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The next `times` requests of a method to a path (`*` any segment, final `**` the rest, a
    /// method of `*` any) meet a fault.
    pub fn fail(&self, times: usize, method: &str, path: &str, fault: Fault) {
        let (method, pattern) = (method.to_owned(), path.to_owned());
        self.fail_where(times, fault, move |given, path| {
            (method == "*" || method == given) && path_matches(&pattern, path)
        });
    }

    /// The next `times` requests for which `matches(method, path)` holds meet a fault.
    pub fn fail_where(
        &self,
        times: usize,
        fault: Fault,
        matches: impl Fn(&str, &str) -> bool + Send + 'static,
    ) {
        self.world().faults.plan(times, fault, matches);
    }

    /// Every request meets one of the faults by chance, until [`GitHub::calm`].
    pub fn chaos(&self, seed: u64, chance: f64, of: &[Fault]) {
        self.world().faults.chaos(seed, chance, of.to_vec());
    }

    pub fn calm(&self) {
        self.world().faults.calm();
    }

    /// What requests met so far, planned and by chance.
    pub fn faults_met(&self) -> Vec<Fault> {
        self.world().faults.met.clone()
    }

    /// Deliveries that came twice so far.
    pub fn doubled_deliveries(&self) -> usize {
        self.world().hooks.doubled
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Logged> {
        self.world().log.clone()
    }
}
