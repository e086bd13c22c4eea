//! Which decisions are due. A pure function of the state, so that a resumed run finds the same.

use super::{Decision, Event, Place, Promotion, Scheduler, Standing, State};

/// Decisions due while more results may come: prunings of results that can never go on, and
/// promotions.
pub(super) fn due(state: &State, scheduler: &dyn Scheduler) -> Vec<Event> {
    let top = state.plan().ladder.top();
    let mut decisions = Vec::new();
    for rung in 0..=top {
        let view = state.view(rung, false);
        // The worst first: whoever stands before one that may go on may go on too.
        for place in view.waiting.iter().rev() {
            let Some(mut reason) = scheduler.hopeless(*place) else { break };
            if let Some(case) = ended_at(state, rung, *place) {
                reason.push_str(&format!(" on {case}, where its evaluation ended"));
            }
            decisions.push(decision(state, rung, *place, Decision::Prune { reason }));
        }
        let promotions = if rung == top { survivors(&view) } else { scheduler.promotions(&view) };
        decisions.extend(promote(state, scheduler, rung, promotions));
    }
    decisions
}

/// Promotions due because nothing more is on its way to a rung.
pub(super) fn due_when_drained(
    state: &State,
    scheduler: &dyn Scheduler,
    unrecorded: f64,
) -> Vec<Event> {
    (0..state.plan().ladder.top())
        .take_while(|rung| state.drained(*rung, unrecorded))
        .map(|rung| {
            let promotions = scheduler.promotions(&state.view(rung, true));
            promote(state, scheduler, rung, promotions).collect::<Vec<_>>()
        })
        // What goes on from a lower rung is on its way to those above.
        .find(|decisions| !decisions.is_empty())
        .unwrap_or_default()
}

/// One more promotion when there is nothing left to do and no survivor is faster than the
/// baseline: the next best on the highest rung, so that a few that did not hold what they promised
/// do not cost those behind them their chance. As many beyond the quota as survivors would be
/// verified.
pub(super) fn second_chance(state: &State, scheduler: &dyn Scheduler) -> Vec<Event> {
    let stands = |place: &&Place| {
        !matches!(state.numbered(place.number).standing(), Standing::Refuted { .. })
    };
    if state.survivors().iter().filter(stands).any(|place| place.log_ratio > 0.0)
        || state.verifications().len() >= state.plan().max_verifications
    {
        return Vec::new();
    }
    let chance = (0..state.plan().ladder.top()).rev().find_map(|rung| {
        let view = state.view(rung, true);
        let quota = (view.keep * view.results as f64).ceil() as usize;
        let next = view.waiting.first().filter(|next| next.log_ratio > 0.0)?;
        let room = view.promoted.len() < quota + state.plan().max_verifications;
        let reason = "those before it did not hold what they promised".to_owned();
        room.then_some((rung, Promotion { place: *next, reason }))
    });
    chance.map_or_else(Vec::new, |(rung, promotion)| {
        promote(state, scheduler, rung, vec![promotion]).collect()
    })
}

/// Prunings at the end of the search: those who wait for a promotion that no longer comes, and
/// those promoted whom the budget did not reach.
pub(super) fn closing(state: &State) -> Vec<Event> {
    let mut decisions = Vec::new();
    for rung in 0..=state.plan().ladder.top() {
        let view = state.view(rung, true);
        for (ahead, place) in (0..view.waiting.len()).zip(view.waiting).rev() {
            let reason = format!(
                "place {} of {} on rung {rung}, {:.3}x the baseline's speed; {} went on",
                ahead + view.promoted.partition_point(|other| other < place) + 1,
                view.results,
                place.speedup(),
                view.promoted.len(),
            );
            decisions.push(decision(state, rung, *place, Decision::Prune { reason }));
        }
        if rung > 0 {
            let ended =
                if state.stopped().is_some() { "the search stopped" } else { "the budget ended" };
            let reason = format!("{ended} before it was evaluated on rung {rung}");
            decisions.extend(state.queue(rung).map(|place| {
                decision(state, rung, *place, Decision::Prune { reason: reason.clone() })
            }));
        }
    }
    decisions
}

/// On the top rung everybody who is accepted and not hopeless is a survivor.
fn survivors(view: &super::RungView<'_>) -> Vec<Promotion> {
    view.waiting
        .iter()
        .map(|place| Promotion {
            place: *place,
            reason: format!("past the top rung, {:.3}x the baseline's speed", place.speedup()),
        })
        .collect()
}

fn promote<'a>(
    state: &'a State,
    scheduler: &'a dyn Scheduler,
    rung: usize,
    promotions: Vec<Promotion>,
) -> impl Iterator<Item = Event> + use<'a> {
    promotions.into_iter().filter(|promotion| scheduler.hopeless(promotion.place).is_none()).map(
        move |Promotion { place, reason }| {
            decision(state, rung, place, Decision::Promote { reason })
        },
    )
}

/// The case at which the evaluation was given up, if it was.
fn ended_at(state: &State, rung: usize, place: Place) -> Option<&str> {
    state.numbered(place.number).measured_on(rung)?.ended_at.as_deref()
}

fn decision(state: &State, rung: usize, place: Place, decision: Decision) -> Event {
    let candidate = state.numbered(place.number).candidate().id.clone();
    Event::Decided { candidate, rung, decision }
}
