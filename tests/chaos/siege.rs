//! Kills while stories go on, then calm.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use kernelbrain::store::service::{DeliveryState, JobState, ServiceStore};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::{
    mock::{Fault, GitHub},
    process::Fleet,
    script::Kill,
    stories::Story,
};

/// One installation under siege.
pub(crate) struct Siege {
    github: GitHub,
    store: Arc<dyn ServiceStore>,
    pub(crate) stories: Vec<Story>,
    random: ChaCha8Rng,
    seed: u64,
    begun: Instant,
    pub(crate) kills: BTreeMap<String, usize>,
    /// Kills while there was a job in this state.
    pub(crate) kills_during: BTreeMap<&'static str, usize>,
    under_fire: Duration,
}

/// How long it may take until all is done once nothing disturbs any more.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl Siege {
    pub(crate) fn new(
        github: &GitHub,
        store: Arc<dyn ServiceStore>,
        stories: Vec<Story>,
        seed: u64,
    ) -> Self {
        Self {
            github: github.clone(),
            store,
            stories,
            random: ChaCha8Rng::seed_from_u64(seed),
            seed,
            begun: Instant::now(),
            kills: BTreeMap::new(),
            kills_during: BTreeMap::new(),
            under_fire: Duration::ZERO,
        }
    }

    /// From now on GitHub is at its worst.
    pub(crate) fn unleash(&self) {
        let faults = [
            Fault::TooMany { retry_after: 1 },
            Fault::ErrorBefore,
            Fault::ErrorAfter,
            Fault::ErrorAfter,
            Fault::DropBefore,
            Fault::DropAfter,
            Fault::DropAfter,
            Fault::ExpireTokens,
        ];
        self.github.chaos(self.seed, 0.1, &faults);
        self.github.unreliable_deliveries(self.seed, 0.1, 0.15);
        self.github.reorder_deliveries(self.seed);
    }

    /// Stories begin one after the other while processes are killed and started again.
    pub(crate) async fn go_on(&mut self, fleet: &mut Fleet, kills: usize) {
        for process in &mut fleet.processes {
            process.start();
        }
        for number in 0..kills {
            // All have begun when two thirds of the kills are over.
            let begun = (self.stories.len() * number * 3 / (2 * kills) + 1).min(self.stories.len());
            let mut kill =
                Kill::plan(&mut self.random, &self.github, fleet.processes.len(), number);
            while !kill.is_due(&self.github, &*self.store, fleet.listens()).await {
                self.advance(begun);
                tokio::time::sleep(LOOK_EVERY).await;
            }
            for state in JobState::ALL {
                if !self.store.jobs_in(&[state], 1).await.unwrap().is_empty() {
                    *self.kills_during.entry(state.name()).or_default() += 1;
                }
            }
            let victim = &mut fleet.processes[kill.victim];
            victim.kill();
            *self.kills.entry(victim.name.clone()).or_default() += 1;
            victim.start();
        }
        self.under_fire = self.begun.elapsed();
    }

    /// The first `begun` stories go on; whether they are all through.
    fn advance(&mut self, begun: usize) -> bool {
        let mut all = true;
        // Each of them gets on, whichever is not over yet.
        for story in self.stories.iter_mut().take(begun) {
            all &= story.advance();
        }
        all
    }

    /// Nothing disturbs any more; ends when there is nothing left to do.
    pub(crate) async fn calm(&mut self, fleet: &Fleet) {
        self.github.calm();
        self.github.reliable_deliveries();
        let since = Instant::now();
        loop {
            let through = self.advance(self.stories.len());
            let left = self.left(fleet).await;
            if through && left.is_empty() {
                return;
            }
            if since.elapsed() > PATIENCE {
                let requests = self.github.requests();
                let last = requests.iter().rev().take(5);
                let last: Vec<_> = last.map(|it| (&it.method, &it.path, it.status)).collect();
                let left = left.join("; ");
                panic!("not over after {PATIENCE:?} of calm: {left}; the last requests: {last:?}");
            }
            tokio::time::sleep(5 * LOOK_EVERY).await;
        }
    }

    /// What is not over yet, in words.
    async fn left(&self, fleet: &Fleet) -> Vec<String> {
        let mut left = Vec::new();
        let mut note = |what: String| left.push(what);
        let open = [JobState::Queued, JobState::Leased, JobState::Running, JobState::Measured];
        for job in self.store.jobs_in(&open, 100).await.unwrap() {
            note(format!("job {} is {}, \"{}\"", job.new.id, job.state.name(), job.reason));
        }
        let owed = self.store.owed().await.unwrap();
        if owed > 0 {
            note(format!("{owed} effects are owed"));
        }
        for delivery in self.github.deliveries() {
            let state = self.store.delivery_state(&delivery.guid).await.unwrap();
            if state != Some(DeliveryState::Done) {
                let (guid, event) = (&delivery.guid, &delivery.event);
                note(format!("delivery {guid} ({event}) is {state:?}"));
            }
        }
        for search in fleet.searches() {
            note(search);
        }
        left
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// From the first start to the last kill, and to now.
    pub(crate) fn seconds(&self) -> (f64, f64) {
        (self.under_fire.as_secs_f64(), self.begun.elapsed().as_secs_f64())
    }
}
