//! The end of a search: survivors are verified in order until one passes, or none does and the
//! source stays as it was.

use std::{cmp::Reverse, collections::HashMap};

use super::{
    Event, Outcome, SearchError, Spend, Standing, State,
    driver::Session,
    timekeeping::{Until, timekeeping},
};
use crate::kernel::{Candidate, Gate, Review};

impl Session<'_> {
    /// The ranked waterfall.
    pub(super) async fn verify_survivors(&mut self) -> Result<Outcome, SearchError> {
        loop {
            let state = &*self.recorder.state;
            // Also true of a session that was killed between the verification and its outcome.
            if let Some(passed) = state.verifications().iter().find(|v| v.accepted()) {
                return Ok(Outcome::Improved { best: passed.candidate.clone() });
            }
            let Some(contender) = next_contender(state) else { break };
            if !affordable(state, self.recorder.unrecorded()) {
                break;
            }
            self.verify(contender).await?;
        }
        Ok(Outcome::NoImprovement { reason: no_improvement(self.recorder.state) })
    }

    async fn verify(&mut self, contender: Candidate) -> Result<(), SearchError> {
        let state = &*self.recorder.state;
        if !state.verification_debited() {
            let debit = Event::Debited {
                candidate: contender.id.clone(),
                rung: state.plan().ladder.rungs().len(),
                estimate: state.verification_estimate(),
            };
            self.recorder.record(&[debit]).await?;
        }
        let verification = tokio::select! {
            biased;
            error = timekeeping(&mut self.recorder, &mut self.stop, Until::Stopped) => {
                return Err(error);
            }
            verification = self.evaluator.verify(&contender) => verification?,
        };
        let spent = Spend {
            wall_seconds: self.recorder.take_unrecorded(),
            gpu_seconds: verification.cost.gpu_seconds,
            tokens: verification.review.as_ref().map_or(0, Review::tokens),
            usd: verification.review.as_ref().map_or(0.0, |review| review.usd),
            ..Spend::default()
        };
        self.recorder.record(&[Event::Verified { verification, spent }]).await?;
        self.warn().await
    }
}

/// The best candidate, measured faster than the baseline, that was not verified yet. Those that
/// measured clearly slower on some case come last, since the performance gate rejects that.
/// Survivors first; where the budget ended before there was one, or none of them held, whoever else came
/// highest, since a verification measures and checks everything that the rungs it missed would have.
fn next_contender(state: &State) -> Option<Candidate> {
    if state.verifications().len() >= state.plan().max_verifications {
        return None;
    }
    let faster = |place: &super::Place| place.log_ratio > 0.0;
    let top = state.plan().ladder.top();
    let unverified = |place: &super::Place| {
        let candidate = &state.numbered(place.number).candidate().id;
        state.verifications().iter().all(|it| it.candidate != *candidate)
    };
    let survivors = state.survivors().iter().copied().filter(faster).filter(unverified);
    let mut survivors: Vec<_> = survivors.map(|place| (top, place)).collect();
    survivors.sort_by_key(|(_, place)| (regresses(state, place.number), *place));
    let others = state.cut_short() || !state.verifications().is_empty();
    let ranked = if survivors.is_empty() && others {
        let mut measured: Vec<_> = state
            .records()
            .iter()
            .filter(|record| matches!(record.standing(), Standing::Pruned { .. }))
            .filter_map(|record| record.place())
            .filter(|(_, place)| faster(place) && unverified(place))
            .collect();
        measured.sort_by_key(|(rung, place)| (Reverse(*rung), *place));
        measured
    } else {
        survivors
    };
    ranked.first().map(|(_, place)| state.numbered(place.number).candidate().clone())
}

/// How much slower than the baseline a case of a survivor measures that its verification will
/// hardly forgive.
const REGRESSION: f64 = 1.015;

/// Whether a candidate was measured clearly slower than the baseline on some case.
fn regresses(state: &State, number: usize) -> bool {
    let measured = state.numbered(number).measured();
    let Some((measured, baseline)) = measured.zip(state.baseline_evaluation()) else {
        return false;
    };
    measured.cases.iter().any(|case| {
        let before = case.baseline_us.or_else(|| baseline.latency_us(&case.case));
        before.is_some_and(|before| case.latency_us > REGRESSION * before)
    })
}

/// The first verification may use whatever is left; another must fit.
fn affordable(state: &State, unrecorded: f64) -> bool {
    let mut spent = state.spend();
    spent.wall_seconds += unrecorded;
    let estimate = if state.verifications().is_empty() || state.verification_debited() {
        Spend::default()
    } else {
        state.verification_estimate()
    };
    state.plan().limits.forbids(&spent, &estimate, &Spend::default()).is_none()
}

/// One sentence: why the source stays as it was, and why the search ended before its budget if it
/// did.
fn no_improvement(state: &State) -> String {
    match state.stopped() {
        Some(stopped) if state.records().is_empty() => stopped.to_string(),
        Some(stopped) => format!("{}; {stopped}", nothing_better(state)),
        None => nothing_better(state),
    }
}

fn nothing_better(state: &State) -> String {
    let verified = state.verifications().len();
    if let Some(last) = state.verifications().iter().rev().find_map(|v| match &v.verdict {
        crate::kernel::Verdict::Rejected(rejection) => Some(rejection),
        crate::kernel::Verdict::Accepted => None,
    }) {
        return match verified {
            1 => format!("the best candidate did not pass verification: {last}"),
            _ => {
                format!("none of the {verified} best candidates passed verification; last: {last}")
            }
        };
    }
    let best = state
        .records()
        .iter()
        .filter(|record| record.gate().is_none())
        .filter_map(|record| record.place())
        .min_by_key(|(rung, place)| (Reverse(*rung), *place));
    let measured = match best {
        Some((rung, place)) if next_contender(state).is_some() => format!(
            "the budget ended before a candidate could be verified: the best on rung {rung} was \
             measured at {:.3}x the baseline's speed",
            place.speedup()
        ),
        Some((rung, place)) if place.log_ratio > 0.0 => format!(
            "no candidate that was faster than the baseline on rung {rung} was accepted on the \
             rungs above it"
        ),
        Some((rung, place)) => format!(
            "no candidate was faster than the baseline beyond noise: the best on rung {rung} was \
             {:.3}x its speed",
            place.speedup()
        ),
        None => nothing_measured(state),
    };
    let left = state.queued(0);
    if left == 0 || state.stopped().is_some() {
        return measured;
    }
    if state.exhausted().is_some() {
        return format!("{measured}; the budget ended with {left} candidates not evaluated");
    }
    format!(
        "{measured}; {left} candidates were not evaluated, since what was left of the budget is what the \
         upper rungs and a verification were expected to take"
    )
}

/// Nothing was accepted: nothing came, nothing was tried, or everything failed.
fn nothing_measured(state: &State) -> String {
    let mut gates: HashMap<Gate, usize> = HashMap::new();
    for gate in state.records().iter().filter_map(|record| record.gate()) {
        *gates.entry(gate).or_default() += 1;
    }
    let rejected: usize = gates.values().sum();
    // Of equals the gate that comes first.
    match gates.into_iter().max_by_key(|(gate, count)| (*count, Reverse(*gate))) {
        Some((gate, count)) => format!(
            "every one of {rejected} evaluated candidates was rejected, most often by the {gate} \
             gate ({count})"
        ),
        None if state.requests().len() > 0 => {
            "the budget ended before there was a candidate to evaluate".to_owned()
        }
        None if state.records().is_empty() => {
            "no move gave a candidate that differs from the baseline".to_owned()
        }
        None => "no candidate was evaluated within the budget".to_owned(),
    }
}
