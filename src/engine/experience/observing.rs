//! What a run has shown, candidate by candidate.

use std::{collections::HashMap, time::SystemTime};

use super::{Circumstances, one_line};
use crate::{
    kernel::{
        CandidateId, CaseMeasurement, Evaluation, Failure, Move, Observation, geometric_mean,
    },
    search::{Record, State},
};

/// Characters kept of a reason.
const REASON: usize = 240;

/// One observation a candidate that was measured or rejected, in the order in which the candidates
/// were added. Case and line of a rejection belong to one kernel alone and are left out.
pub fn observations(
    circumstances: &Circumstances,
    state: &State,
    recorded: SystemTime,
) -> Vec<Observation> {
    let last = last_tries(state);
    let observe = |record: &Record| {
        let failure = record.rejection().map(|rejection| Failure {
            gate: rejection.gate,
            reason: Some(one_line(&rejection.reason, REASON))
                .filter(|reason| !reason.is_empty())
                .unwrap_or_else(|| "no reason was given".to_owned()),
        });
        let speedup = record.speedup().filter(|speedup| speedup.is_finite() && *speedup > 0.0);
        if failure.is_none() && speedup.is_none() {
            return None;
        }
        let candidate = record.candidate();
        let parent = Parent::of(record, state);
        let compared = parent.as_ref().and_then(|parent| parent.compare(record, state));
        let repaired = chain(record).is_some_and(|(link, number)| last[&link] > number);
        Some(Observation {
            run: circumstances.run.clone(),
            candidate: candidate.id.clone(),
            target: circumstances.target.clone(),
            operator: circumstances.operator.clone(),
            arch: circumstances.arch.clone(),
            triton: circumstances.triton.clone(),
            origin: candidate.origin.clone(),
            parent_speedup: parent.map(|parent| parent.speedup),
            speedup,
            gain: compared.as_ref().map(|it| it.gain),
            headroom_closed: compared.and_then(|it| it.headroom_closed),
            failure,
            repaired,
            recorded,
        })
    };
    // What nobody would import is not kept either: a recipe of thousands of steps, for example.
    state.records().iter().filter_map(observe).filter(|it| it.check().is_ok()).collect()
}

/// A rewrite and its repairs: the same task for the same parent.
type Chain<'s> = (Option<&'s CandidateId>, &'s str);

/// The chain that a candidate belongs to, and its place in it.
fn chain(record: &Record) -> Option<(Chain<'_>, u32)> {
    let candidate = record.candidate();
    match &candidate.origin {
        Move::Rewrite { task, repairs } => Some(((candidate.parent.as_ref(), task), *repairs)),
        Move::Baseline | Move::Recipe { .. } => None,
    }
}

/// The place of the last candidate of every chain.
fn last_tries(state: &State) -> HashMap<Chain<'_>, u32> {
    let mut last = HashMap::new();
    for (link, number) in state.records().iter().filter_map(chain) {
        let known = last.entry(link).or_insert(number);
        *known = number.max(*known);
    }
    last
}

/// A parent as it was measured.
struct Parent<'s> {
    evaluation: &'s Evaluation,
    /// Over the baseline's.
    speedup: f64,
}

/// A candidate beside its parent.
struct Compared {
    gain: f64,
    headroom_closed: Option<f64>,
}

impl<'s> Parent<'s> {
    /// `None` where its timings are void or it has none.
    fn of(record: &Record, state: &'s State) -> Option<Self> {
        let parent = record.candidate().parent.as_ref()?;
        if *parent == state.baseline().id {
            return Some(Self { evaluation: state.baseline_evaluation()?, speedup: 1.0 });
        }
        let parent = state.record(parent)?;
        let speedup = parent.speedup().filter(|speedup| speedup.is_finite() && *speedup > 0.0)?;
        Some(Self { evaluation: parent.measured()?, speedup })
    }

    /// By the last measurements of both. Each is taken relative to the baseline in its own rounds,
    /// so that they compare although they were made at different times and on different rungs.
    fn compare(&self, record: &Record, state: &State) -> Option<Compared> {
        record.speedup()?;
        let candidate = record.measured()?;
        let baseline = state.baseline_evaluation()?;
        let plan = state.plan();
        let mut gains = Vec::new();
        // Of the parent, and of the candidate at the same speed of the device: time over bound.
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (at, case) in plan.cases.iter().enumerate() {
            let measured = |evaluation: &'s Evaluation| decisive(evaluation, &case.name);
            let (Some(old), Some(new)) =
                (measured(self.evaluation), decisive(candidate, &case.name))
            else {
                continue;
            };
            let against = baseline.latency_us(&case.name);
            let relative = |it: &CaseMeasurement| Some(it.latency_us / it.baseline_us.or(against)?);
            let (Some(slow), Some(fast)) = (relative(old), relative(new)) else { continue };
            gains.push((slow / fast, case.weight));
            if let Some(bound) = plan.bounds_us.get(at).copied().flatten() {
                before.push((old.latency_us / bound, case.weight));
                after.push((old.latency_us / bound * fast / slow, case.weight));
            }
        }
        let gain = geometric_mean(gains)?;
        let headroom_closed = closed(geometric_mean(before), geometric_mean(after));
        Some(Compared { gain, headroom_closed })
    }
}

/// What `evaluation` measured on a case, unless it says nothing because it ended at another.
fn decisive<'e>(evaluation: &'e Evaluation, case: &str) -> Option<&'e CaseMeasurement> {
    evaluation.case(case).filter(|_| evaluation.ended_at.as_deref().is_none_or(|at| at == case))
}

/// The share of the parent's excess over its bound that the candidate does not have any more. A
/// parent this near its bound has none to speak of; a measurement far below it shows that it is none.
fn closed(parent: Option<f64>, candidate: Option<f64>) -> Option<f64> {
    let (parent, candidate) = (parent?, candidate?);
    (parent >= 1.02 && candidate >= 0.9).then(|| (parent - candidate) / (parent - 1.0))
}
