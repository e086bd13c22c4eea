//! When the next kill falls: seeded, and such that every stage of a job gets its share.

use std::time::{Duration, Instant};

use kernelbrain::store::service::{JobState, ServiceStore};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::mock::GitHub;

/// What is waited for before the next kill.
#[derive(Clone, Copy, Debug)]
enum Cue {
    /// So long after the start; a service may not even listen by then.
    Start(Duration),
    /// So long after the service listens, as all that follow.
    Time(Duration),
    /// So many more writes at GitHub: between the deed and its record.
    Writes(usize),
    /// A job in this state.
    State(JobState),
}

/// The next kill.
#[derive(Debug)]
pub(crate) struct Kill {
    /// Index of the process.
    pub(crate) victim: usize,
    cue: Cue,
    /// After the cue.
    delay: Duration,
    writes_before: usize,
    set: Instant,
    listened: Option<Instant>,
    cued: Option<Instant>,
}

/// A cue that does not come must not hold up the siege.
const PATIENCE: Duration = Duration::from_millis(1000);

impl Kill {
    /// `number` is the kill's; states take turns, so that none is left out.
    pub(crate) fn plan(
        random: &mut ChaCha8Rng,
        github: &GitHub,
        processes: usize,
        number: usize,
    ) -> Self {
        let states = [JobState::Running, JobState::Leased, JobState::Measured, JobState::Queued];
        let cue = match random.random_range(0..10) {
            0 => Cue::Start(Duration::from_millis(random.random_range(5..150))),
            1..=3 => Cue::Time(Duration::from_millis(random.random_range(150..800))),
            4..=6 => Cue::Writes(random.random_range(1..6)),
            _ => Cue::State(states[number % states.len()]),
        };
        // Half of them hit the service.
        let victim = match processes {
            1 => 0,
            _ if random.random_bool(0.5) => 0,
            more => random.random_range(1..more),
        };
        Self {
            victim,
            cue,
            delay: Duration::from_millis(random.random_range(0..60)),
            writes_before: github.writes().len(),
            set: Instant::now(),
            listened: None,
            cued: None,
        }
    }

    /// Whether it is time.
    pub(crate) async fn is_due(
        &mut self,
        github: &GitHub,
        store: &dyn ServiceStore,
        listens: bool,
    ) -> bool {
        if listens && self.listened.is_none() {
            self.listened = Some(Instant::now());
        }
        if self.cued.is_none() && self.has_come(github, store).await {
            self.cued = Some(Instant::now());
        }
        self.cued.is_some_and(|cued| cued.elapsed() >= self.delay)
    }

    async fn has_come(&self, github: &GitHub, store: &dyn ServiceStore) -> bool {
        if let Cue::Start(time) = self.cue {
            return self.set.elapsed() >= time;
        }
        let Some(listened) = self.listened else { return false };
        if listened.elapsed() >= PATIENCE {
            return true;
        }
        match self.cue {
            Cue::Start(time) | Cue::Time(time) => listened.elapsed() >= time,
            Cue::Writes(writes) => github.writes().len() >= self.writes_before + writes,
            Cue::State(state) => !store.jobs_in(&[state], 1).await.unwrap().is_empty(),
        }
    }
}
