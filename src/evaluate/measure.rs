//! What a rung measures of a case: a quick look at the lowest, a race above it.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    burst::Challenge,
    companion::Borrowed,
    course::Rounds,
    judge::{Fidelity, Stop},
    protocol::{BurstPlan, Timing},
    race::{self, Entrant, Opponents},
    statistics::median,
    subject::Subject,
};
use crate::kernel::{Gate, Rejection};

/// Sets that a quick look goes through: filled again for every candidate, so they must be few
/// where each is large.
const LOOK_SETS: u64 = 4;
const LOOK_SETS_OF_LARGE: u64 = 2;
const LARGE_BYTES: u64 = 1 << 30;

/// Answers up to this size are compared after a quick look as well.
const COMPARED_BYTES: u64 = 256 << 20;

/// Times of a case on a rung, microseconds.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) latency_us: f64,
    /// The middle one of the calls: what is held against the speed of light.
    pub(super) median_us: f64,
    /// The baseline's in the same rounds.
    pub(super) baseline_us: Option<f64>,
    pub(super) host_us: Option<f64>,
    pub(super) backward_us: Option<f64>,
    pub(super) error: f64,
    pub(super) disturbed: u32,
}

impl Measured {
    /// By this process's clock.
    pub(super) fn of_one_call(latency_us: f64) -> Self {
        Self {
            latency_us,
            median_us: latency_us,
            baseline_us: None,
            host_us: Some(latency_us),
            backward_us: None,
            error: 0.0,
            disturbed: 0,
        }
    }
}

impl Subject<'_> {
    /// One burst on a few sets of inputs that are the same for every candidate. The quickest of its
    /// two to four calls counts: others get and give back gigabytes meanwhile, calls are seen to take a
    /// tenth longer than the next one does. Nothing quickens a call of an honest kernel; who is quick in
    /// one of them only is found out by the medians of the rungs above.
    pub(super) async fn look(
        &mut self,
        case: usize,
        seed: u64,
        timing: Timing,
    ) -> Result<Measured, Stop> {
        let inputs = self.inputs(case, seed).await?;
        let size = CaseSize::of(&inputs);
        let sets = if size.inputs > LARGE_BYTES { LOOK_SETS_OF_LARGE } else { LOOK_SETS };
        let one_each = Timing { warmup: 0, repeat: timing.repeat.min(sets as u32), ..timing };
        let seeds = race::round_seeds(seed, 0, one_each);
        self.warm_up(case, &inputs, timing).await?;
        let challenge = Challenge {
            case,
            like: seed,
            seeds: &seeds,
            passing: false,
            timing: Timing { warmup: 0, ..timing },
            judged: size.outputs <= COMPARED_BYTES,
            paced: false,
        };
        let burst = self.burst(&challenge).await?;
        let median_us = burst.median_us().ok_or_else(|| self.untimed(case))?;
        Ok(Measured {
            latency_us: burst.quickest_us().unwrap_or(median_us),
            median_us,
            baseline_us: None,
            host_us: burst.host_us,
            backward_us: burst.backward_us.as_deref().and_then(median),
            error: burst.error,
            disturbed: 0,
        })
    }

    /// What a burst will be like, for a child to get ready for it.
    pub(super) fn plan_of(&self, fidelity: &Fidelity, inputs: &Value) -> BurstPlan {
        let judged = fidelity.rounds.is_some() || CaseSize::of(inputs).outputs <= COMPARED_BYTES;
        self.plan(fidelity.timing, judged)
    }

    /// Rounds on fresh inputs, beside the baseline where there is one.
    pub(super) async fn run_rounds(
        &mut self,
        case: usize,
        seed: u64,
        mut baseline: Option<&mut Borrowed<'_>>,
        timing: Timing,
        rounds: Rounds,
    ) -> Result<Measured, Stop> {
        if let Some(borrowed) = &mut baseline {
            borrowed.meet(case, seed).await;
        }
        let mut baseline = baseline.filter(|borrowed| !borrowed.failed);
        let opponents = Opponents {
            baseline: baseline.as_mut().map(|borrowed| &mut borrowed.subject),
            ..Opponents::default()
        };
        let entrant = Entrant { subject: &mut *self, seed, case };
        let times = race::race(entrant, opponents, timing, rounds).await?;
        if let Some(borrowed) = baseline {
            borrowed.failed |= !times.failed.is_empty();
        }
        let median_us = median(&times.candidate).ok_or_else(|| self.untimed(case))?;
        Ok(Measured {
            latency_us: median_us,
            median_us,
            baseline_us: paired_baseline(&times),
            host_us: median(&times.host),
            backward_us: median(&times.backward),
            error: times.error,
            disturbed: times.disturbed,
        })
    }

    fn untimed(&self, case: usize) -> Rejection {
        let name = &self.plane.contract.cases[case].name;
        Rejection::new(Gate::Integrity, "reported no times").on_case(name)
    }
}

/// What the baseline would have taken if it stood to the candidate's median as it did in the
/// middle round: the quotient of both is the paired speedup.
fn paired_baseline(times: &race::Times) -> Option<f64> {
    let speedup = times.speedup(&times.baseline)?;
    Some(median(&times.candidate)? * speedup.median)
}

/// Bytes of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CaseSize {
    pub(super) inputs: u64,
    pub(super) outputs: u64,
}

impl CaseSize {
    /// From what a child is told of a case.
    pub(super) fn of(inputs: &Value) -> Self {
        let buffers = inputs.get("buffers").and_then(Value::as_array);
        let sizes: HashMap<u64, u64> = buffers
            .into_iter()
            .flatten()
            .filter_map(|buffer| {
                Some((buffer.get("buffer")?.as_u64()?, buffer.get("bytes")?.as_u64()?))
            })
            .collect();
        let sum = |parts: [&str; 2]| {
            let mut numbers = Vec::new();
            parts.iter().for_each(|part| collect_buffers(&inputs[*part], &mut numbers));
            numbers.iter().filter_map(|number| sizes.get(number)).sum()
        };
        Self { inputs: sum(["arguments", "parameters"]), outputs: sum(["outputs", "mutated"]) }
    }
}

/// The numbers of the buffers that a part of a layout refers to.
fn collect_buffers(part: &Value, found: &mut Vec<u64>) {
    match part {
        Value::Object(fields) => match fields.get("buffer").and_then(Value::as_u64) {
            Some(number) => found.push(number),
            None => fields.values().for_each(|field| collect_buffers(field, found)),
        },
        Value::Array(items) => items.iter().for_each(|item| collect_buffers(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_size_of_a_case_is_that_of_its_own_set() {
        let tensor = |buffer| json!({"tensor": {"buffer": buffer, "dtype": "float32"}});
        let inputs = json!({
            "buffers": [
                {"buffer": 0, "bytes": 64}, {"buffer": 1, "bytes": 32},
                {"buffer": 7, "bytes": 4096}, {"buffer": 9, "bytes": 16},
            ],
            "arguments": [tensor(0), {"list": [tensor(1), {"value": 3}]}],
            "parameters": {},
            "outputs": [{"buffer": 9, "dtype": "float32"}],
            "mutated": [],
        });
        assert_eq!(CaseSize::of(&inputs), CaseSize { inputs: 96, outputs: 16 });
        assert_eq!(CaseSize::of(&json!({})), CaseSize { inputs: 0, outputs: 0 });
    }
}
