//! What the baseline takes, so that a candidate that is clearly slower need not be measured to the
//! end.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::plane::Plane;
use crate::kernel::{CaseMeasurement, Evaluation};

/// Of a kernel of a few microseconds a look is off by more than a share of it, microseconds.
const SLACK_US: f64 = 2.0;

/// What is known of the baseline on a case.
#[derive(Clone, Copy, Debug, Default)]
struct Standard {
    latency_us: f64,
    /// How long its first call took by this process's clock, where it was made in this process.
    first_call: Option<Duration>,
}

/// How many times as long as the baseline's a candidate's compilation may take: with a compiler on
/// every core each takes longer than the baseline's, which had them to itself. And what it may take in
/// any case: bigger tiles and unrolled loops take seconds.
const COMPILE_FACTOR: u32 = 10;
const LEAST_COMPILE_LIMIT: Duration = Duration::from_secs(20);

/// The baseline on each case, as it was measured last.
#[derive(Debug, Default)]
pub(super) struct Standards {
    cases: Mutex<HashMap<String, Standard>>,
    /// The longest that its compilation for a case took here.
    compile: Mutex<Option<Duration>>,
}

impl Standards {
    /// Takes down the baseline's measurements.
    pub(super) fn set(&self, cases: &[CaseMeasurement]) {
        let mut known = self.lock();
        for case in cases {
            known.entry(case.case.clone()).or_default().latency_us = case.latency_us;
        }
    }

    /// Takes down how long its first call on a case took.
    pub(super) fn set_first_call(&self, case: &str, took: Duration) {
        self.lock().entry(case.to_owned()).or_default().first_call = Some(took);
    }

    /// Takes down how long its compilation for a case took.
    pub(super) fn set_compile(&self, took: Duration) {
        let mut longest = self.compile.lock().unwrap_or_else(PoisonError::into_inner);
        *longest = (*longest).max(Some(took));
    }

    /// How long a candidate may be compiled for a case, at most `limit`: whoever takes many times as
    /// long as the baseline keeps others from being looked at, and nobody wants it.
    pub(super) fn compile_limit(&self, limit: Duration) -> Duration {
        let longest = *self.compile.lock().unwrap_or_else(PoisonError::into_inner);
        let usual = longest.map(|longest| (COMPILE_FACTOR * longest).max(LEAST_COMPILE_LIMIT));
        usual.map_or(limit, |usual| usual.min(limit))
    }

    /// Whether a case took more than `factor` times what the baseline takes. Not where nothing is
    /// known of the baseline.
    pub(super) fn exceeded(&self, measured: &CaseMeasurement, factor: f64) -> bool {
        self.lock().get(&measured.case).is_some_and(|known| {
            known.latency_us > 0.0 && measured.latency_us > factor * known.latency_us + SLACK_US
        })
    }

    /// The latency that a first call of this length stands for, microseconds, by what the
    /// baseline's first call and its latency were: like is compared with like.
    pub(super) fn by_first_call(&self, case: &str, took: Duration) -> Option<f64> {
        let known = *self.lock().get(case)?;
        let first = known.first_call?.as_secs_f64();
        (known.latency_us > 0.0 && first > 0.0)
            .then(|| known.latency_us * took.as_secs_f64() / first)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Standard>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plane {
    /// What an earlier process measured of the baseline, on the same kind of machine.
    pub fn know_baseline(&self, evaluation: &Evaluation) {
        self.standards.set(&evaluation.cases);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(case: &str, latency_us: f64) -> CaseMeasurement {
        CaseMeasurement {
            case: case.into(),
            latency_us,
            baseline_us: None,
            host_us: None,
            backward_us: None,
            error: None,
        }
    }

    #[test]
    fn a_case_is_held_against_the_baseline_where_that_is_known() {
        let standards = Standards::default();
        assert!(!standards.exceeded(&measured("wide", 500.0), 1.1), "nothing is known");
        standards.set(&[measured("wide", 100.0)]);
        assert!(standards.exceeded(&measured("wide", 113.0), 1.1));
        assert!(!standards.exceeded(&measured("wide", 111.0), 1.1), "a look is off by some");
        assert!(!standards.exceeded(&measured("tall", 500.0), 1.1));
    }

    #[test]
    fn a_compilation_may_take_several_times_as_long_as_the_baselines() {
        let standards = Standards::default();
        let seconds = Duration::from_secs;
        assert_eq!(standards.compile_limit(seconds(120)), seconds(120), "nothing is known");
        standards.set_compile(seconds(1));
        assert_eq!(standards.compile_limit(seconds(120)), seconds(20));
        standards.set_compile(seconds(5));
        standards.set_compile(seconds(1));
        assert_eq!(standards.compile_limit(seconds(120)), seconds(50), "the longest counts");
        assert_eq!(standards.compile_limit(seconds(15)), seconds(15));
    }

    #[test]
    fn a_first_call_is_held_against_the_baselines_first_call() {
        let standards = Standards::default();
        standards.set(&[measured("wide", 1e6)]);
        assert_eq!(standards.by_first_call("wide", Duration::from_secs(1)), None);
        standards.set_first_call("wide", Duration::from_secs(2));
        assert_eq!(standards.by_first_call("wide", Duration::from_secs(3)), Some(1.5e6));
        assert_eq!(standards.by_first_call("tall", Duration::from_secs(3)), None);
    }
}
