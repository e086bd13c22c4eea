//! Other limits for a run that goes on.

use super::{begin::fold, error::EngineError, optimize::OptimizeRequest};
use crate::{
    search::{Event, Limits},
    store::RunRecord,
};

/// Other limits for a run that goes on: each that is given takes the place of the run's own, counted
/// from the run's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Raise {
    pub limits: Limits,
    pub max_candidates: Option<usize>,
    /// Of a run that asks a language model.
    pub rewrites: Option<u32>,
}

/// The event that gives a run which goes on the limits that `request` names for it; `None` where they are
/// its own.
///
/// # Errors
/// Rewrites for a run that asks nobody, or limits that are none.
pub(super) fn changed_limits(
    request: &OptimizeRequest,
    record: &RunRecord,
    events: &[Event],
) -> Result<Option<Event>, EngineError> {
    let Raise { limits: named, max_candidates, rewrites } = request.raise;
    if request.resume.is_none() || request.raise == Raise::default() {
        return Ok(None);
    }
    let (_, state) = fold(record, events)?;
    let (own, generation) = (state.plan().limits, state.plan().generation);
    if rewrites.is_some() && generation.rewrites.is_none() {
        return Err(EngineError::Usage(format!(
            "run {} was begun without a language model: begin a new run to ask one for rewrites",
            record.id
        )));
    }
    let limits = Limits {
        wall_seconds: named.wall_seconds.or(own.wall_seconds),
        gpu_seconds: named.gpu_seconds.or(own.gpu_seconds),
        evaluations: named.evaluations.or(own.evaluations),
        tokens: named.tokens.or(own.tokens),
        usd: named.usd.or(own.usd),
    };
    let max_candidates = max_candidates.unwrap_or(generation.max_candidates);
    let before = generation.rewrites.map(|rewrites| rewrites.most);
    let rewrites = rewrites.or(before);
    let same = (limits, max_candidates, rewrites) == (own, generation.max_candidates, before);
    // What cannot be is refused before it is in the journal.
    let changed = state.plan().clone().change_limits(limits, max_candidates, rewrites);
    changed.map_err(|error| EngineError::Usage(error.to_string()))?;
    Ok((!same).then_some(Event::LimitsChanged { limits, max_candidates, rewrites }))
}
