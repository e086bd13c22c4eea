//! What the baseline takes, so that a candidate that is clearly slower need not be measured to the
//! end.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::kernel::CaseMeasurement;

/// The baseline's latency on each case, as it was measured last.
#[derive(Debug, Default)]
pub(super) struct Standards(Mutex<HashMap<String, f64>>);

impl Standards {
    /// Takes down the baseline's measurements.
    pub(super) fn set(&self, cases: &[CaseMeasurement]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(cases.iter().map(|case| (case.case.clone(), case.latency_us)));
    }

    /// Whether a case took more than `factor` times what the baseline takes. Not where the baseline
    /// was not measured in this process, which is so after a run was resumed.
    pub(super) fn exceeded(&self, measured: &CaseMeasurement, factor: f64) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&measured.case).is_some_and(|us| measured.latency_us > factor * us)
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
        assert!(standards.exceeded(&measured("wide", 111.0), 1.1));
        assert!(!standards.exceeded(&measured("wide", 109.0), 1.1));
        assert!(!standards.exceeded(&measured("tall", 500.0), 1.1));
    }
}
