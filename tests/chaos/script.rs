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
            0 => Cue::Time(Duration::from_millis(random.random_range(5..150))),
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
            cued: None,
        }
    }

    /// Whether it is time.
    pub(crate) async fn is_due(&mut self, github: &GitHub, store: &dyn ServiceStore) -> bool {
        if self.cued.is_none() {
            let elapsed = self.set.elapsed();
            let come = match self.cue {
                Cue::Time(time) => elapsed >= time,
                Cue::Writes(writes) => github.writes().len() >= self.writes_before + writes,
                Cue::State(state) => !store.jobs_in(&[state], 1).await.unwrap().is_empty(),
            };
            if come || elapsed >= PATIENCE {
                self.cued = Some(Instant::now());
            }
        }
        self.cued.is_some_and(|cued| cued.elapsed() >= self.delay)
    }
}
