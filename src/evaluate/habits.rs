//! What the baseline's process was seen to do. A repository's own habits are no reason to reject
//! a candidate that keeps them.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use super::protocol::Observed;

/// Habits by their words, without numbers: a thread more or less is the same habit.
#[derive(Debug, Default)]
pub(super) struct Habits(Mutex<HashSet<String>>);

impl Habits {
    pub(super) fn learn(&self, observed: &[Observed]) {
        if !observed.is_empty() {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.extend(observed.iter().map(key));
        }
    }

    pub(super) fn include(&self, observed: &Observed) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&key(observed))
    }

    /// Whether something was observed, and nothing that is no habit.
    pub(super) fn include_all(&self, observed: &[Observed]) -> bool {
        !observed.is_empty() && observed.iter().all(|it| self.include(it))
    }
}

fn key(observed: &Observed) -> String {
    observed.what.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(what: &str) -> Observed {
        Observed { what: what.into(), line: Some(7) }
    }

    #[test]
    fn a_habit_is_known_by_what_it_is_whatever_the_numbers() {
        let habits = Habits::default();
        habits.learn(&[observed("changed torch's number of threads from 16 to 4")]);
        assert!(habits.include(&observed("changed torch's number of threads from 8 to 2")));
        assert!(!habits.include(&observed("starts a thread")));
    }
}
