//! What observations come to: how often a move was tried, what came of it, what to tell of it.

use std::collections::BTreeMap;

use crate::{
    generate::task::{ENOUGH_TRIES, Experience, Known, Subject, Tally},
    kernel::{Failure, Gate, Move, Observation},
};

/// What `observations` of one operator and architecture, or of several, come to. With `triton`, a
/// move is judged by what it did under that minor version once it was tried often enough there, and
/// until then by all: a new compiler changes what helps, but less than not knowing does.
pub fn experience(observations: &[Observation], triton: Option<&str>) -> Experience {
    let mut moves: BTreeMap<Subject, Vec<&Observation>> = BTreeMap::new();
    for it in observations {
        let (task, operator, arch) = (it.step(), it.operator.clone(), it.arch.clone());
        moves.entry(Subject { task, operator, arch }).or_default().push(it);
    }
    let known = moves.into_iter().map(|(subject, mut seen)| {
        let here = |it: &&Observation| triton.is_some_and(|now| minor(now) == minor(&it.triton));
        let tries_here = seen.iter().filter(|it| here(it) && it.is_try()).count();
        if tries_here >= ENOUGH_TRIES as usize {
            seen.retain(here);
        }
        Known { subject, tally: tally(&seen), note: note(&seen) }
    });
    known.filter(|known| known.tally.tries > 0).collect()
}

/// `3.6` of `3.6.0+git1234`.
fn minor(version: &str) -> &str {
    version.match_indices('.').nth(1).map_or(version, |(at, _)| &version[..at])
}

/// How often a move was tried, and what came of it.
fn tally(observations: &[&Observation]) -> Tally {
    let tries: Vec<_> = observations.iter().filter(|it| it.is_try()).collect();
    let mut gains: Vec<f64> = tries.iter().filter_map(|it| it.success()).collect();
    gains.sort_by(f64::total_cmp);
    let middle = gains.len() / 2;
    let median_gain = match gains.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(gains[middle]),
        // Of a ratio: as far from the one as from the other.
        _ => Some((gains[middle - 1] * gains[middle]).sqrt()),
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Tally { tries: count(tries.len()), successes: count(gains.len()), median_gain }
}

/// What a prompt tells of a move besides its tally: the recipe that brought most, the most
/// instructive failure, the worst slowdown that is a warning.
fn note(observations: &[&Observation]) -> Option<String> {
    let best = observations
        .iter()
        .filter_map(|it| Some((it.success()?, it)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let best = best.and_then(|(_, it)| match &it.origin {
        Move::Recipe { text } => Some(format!("best: {text}")),
        Move::Baseline | Move::Rewrite { .. } => None,
    });
    let failure = most_instructive(observations).map(|it| format!("{}: {}", it.gate, it.reason));
    let slowdown = observations.iter().filter_map(|it| it.slowdown()).max_by(f64::total_cmp);
    let slowdown = slowdown.map(|times| format!("took {times:.1} times as long once"));
    let told: Vec<String> = best.into_iter().chain(failure).chain(slowdown).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// A failure that says most about how a move goes wrong: of the gate that tells most, the last one.
/// That a candidate was not fast enough, its tally says.
fn most_instructive<'o>(observations: &[&'o Observation]) -> Option<&'o Failure> {
    let rank = |failure: &Failure| match failure.gate {
        Gate::Performance => None,
        Gate::Policy => Some(0),
        Gate::RepositoryTests => Some(1),
        Gate::Integrity => Some(2),
        Gate::Build => Some(3),
        Gate::Correctness => Some(4),
    };
    let failures = observations.iter().filter_map(|it| it.failure.as_ref());
    let ranked = failures.filter_map(|failure| Some((rank(failure)?, failure)));
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, failure)| failure)
}
