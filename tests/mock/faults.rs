//! Trouble on demand: the next requests that match, or seeded trouble for all of them.

use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::webhook::seeded;

/// What happens to a request instead of, or after, its answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// 429 with `retry-after`, in seconds.
    TooMany { retry_after: u64 },
    /// 403 of the secondary limit, with `retry-after`.
    Secondary { retry_after: u64 },
    /// 403 of the hourly limit: nothing remaining until `in_s` from now.
    Exhausted { in_s: u64 },
    /// An error of the server; nothing was written.
    ErrorBefore,
    /// An error of the server, after the write took place.
    ErrorAfter,
    /// The connection is cut before anything happens.
    DropBefore,
    /// The connection is cut after the write took place.
    DropAfter,
    /// Every token is dead from now on; the request goes on with its own.
    ExpireTokens,
    /// The answer takes its time.
    Delay(Duration),
    /// Any status, nothing written.
    Status(u16),
}

type Matches = Box<dyn Fn(&str, &str) -> bool + Send>;

struct Planned {
    left: usize,
    matches: Matches,
    fault: Fault,
}

/// Chances of seeded trouble.
#[derive(Debug)]
pub struct Chaos {
    random: ChaCha8Rng,
    chance: f64,
    of: Vec<Fault>,
}

#[derive(Default)]
pub struct Faults {
    planned: Vec<Planned>,
    chaos: Option<Chaos>,
    /// What requests met so far.
    pub met: Vec<Fault>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} planned, {:?}", self.planned.len(), self.chaos)
    }
}

impl Faults {
    pub fn plan(
        &mut self,
        times: usize,
        fault: Fault,
        matches: impl Fn(&str, &str) -> bool + Send + 'static,
    ) {
        self.planned.push(Planned { left: times, matches: Box::new(matches), fault });
    }

    pub fn chaos(&mut self, seed: u64, chance: f64, of: Vec<Fault>) {
        self.chaos = Some(Chaos { random: seeded(seed), chance, of });
    }

    pub fn calm(&mut self) {
        *self = Self { met: std::mem::take(&mut self.met), ..Self::default() };
    }

    /// What is to happen to this request.
    pub fn next(&mut self, method: &str, path: &str) -> Option<Fault> {
        let fault = self.pick(method, path);
        self.met.extend(fault);
        fault
    }

    fn pick(&mut self, method: &str, path: &str) -> Option<Fault> {
        let planned =
            self.planned.iter_mut().find(|one| one.left > 0 && (one.matches)(method, path));
        if let Some(planned) = planned {
            planned.left -= 1;
            return Some(planned.fault);
        }
        let chaos = self.chaos.as_mut()?;
        if chaos.of.is_empty() || !chaos.random.random_bool(chaos.chance) {
            return None;
        }
        let pick = chaos.random.random_range(0..chaos.of.len());
        Some(chaos.of[pick])
    }
}

/// Whether `path` is `pattern`, where `*` stands for anything within a segment and a final `**`
/// for the rest.
pub fn path_matches(pattern: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (Some("**"), _) | (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return false,
        }
    }
}
