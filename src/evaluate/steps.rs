//! How long each step of an evaluation took, for whoever wants to make evaluations faster:
//! `KERNELBRAIN_LOG=kernelbrain=debug` prints one line an evaluation.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// Steps in their order; one that is made several times is there several times.
#[derive(Debug, Default)]
pub(super) struct Steps(Mutex<Vec<(&'static str, f64)>>);

impl Steps {
    /// Notes a step that began at `since` and ends now.
    pub(super) fn note(&self, step: &'static str, since: Instant) {
        let ms = since.elapsed().as_secs_f64() * 1e3;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((step, ms));
    }

    /// `[["load",12.6],["compile",630.9]]`, milliseconds.
    pub(super) fn json(&self) -> String {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown: Vec<String> =
            steps.iter().map(|(step, ms)| format!("[\"{step}\",{ms:.1}]")).collect();
        format!("[{}]", shown.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_can_read_them() {
        let steps = Steps::default();
        steps.note("load", Instant::now());
        steps.note("run", Instant::now());
        let read: Vec<(String, f64)> = serde_json::from_str(&steps.json()).unwrap();
        assert_eq!(read.iter().map(|(step, _)| step.as_str()).collect::<Vec<_>>(), ["load", "run"]);
    }
}
