//! From a run's state to experience, and from experience to what the next run is told.
//!
//! Two layers of memory keep the model from going back to what failed: within a run, its history
//! (search's attempts, the lineage of a prompt); across runs, this one. They do not overlap: what a
//! run remembers of itself is not recalled by it.

use std::{
    collections::{BTreeMap, HashMap},
    time::SystemTime,
};

use super::error::EngineError;
use crate::{
    evaluate::Device,
    generate::{
        recipe::Context,
        task::{ENOUGH_TRIES, Experience, Known, Subject, Tally, fingerprint},
    },
    kernel::{
        Arch, CandidateId, CaseMeasurement, Evaluation, Failure, Gate, Move, Observation,
        arch_name, geometric_mean, syntax::Source,
    },
    report::cleaned,
    search::{Record, State},
    store::{ExperienceFilter, ExperienceStore},
};

/// What the experience of one run holds for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    pub run: String,
    /// Name of the target.
    pub target: String,
    /// Fingerprint of the operator.
    pub operator: String,
    /// As [`arch_name`] has it.
    pub arch: String,
    /// Version of Triton.
    pub triton: String,
}

impl Circumstances {
    /// Of `run` on `target`, whose baseline is `text` and whose contract compares `gradients`;
    /// `context` is the recipes'. `None` for a text that is no Python: no run gets so far with one.
    pub fn new(
        run: &str,
        target: &str,
        text: &str,
        context: &Context,
        gradients: bool,
        device: Device,
        triton: &str,
    ) -> Option<Self> {
        let arch = match device {
            Device::Cpu => None,
            Device::Cuda { capability: (major, minor), .. } => Some(Arch { major, minor }),
        };
        let source = Source::parse(text).ok()?;
        Some(Self {
            run: run.to_owned(),
            target: one_line(target, TARGET),
            operator: fingerprint(&source, context, gradients),
            arch: arch_name(arch),
            triton: triton.to_owned(),
        })
    }
}

/// Keeps what a run has shown, however it ended; says how many candidates that were not known. A run
/// that goes on may be remembered again: what it has learnt by then replaces what it knew before.
pub async fn remember(
    store: &dyn ExperienceStore,
    circumstances: &Circumstances,
    state: &State,
) -> Result<u64, EngineError> {
    let observations = observations(circumstances, state, SystemTime::now());
    Ok(store.record_experience(&observations).await?)
}

/// What other runs have shown on such kernels and GPUs.
pub async fn recall(
    store: &dyn ExperienceStore,
    circumstances: &Circumstances,
) -> Result<Experience, EngineError> {
    let filter = ExperienceFilter {
        operator: Some(circumstances.operator.clone()),
        arch: Some(circumstances.arch.clone()),
        ..ExperienceFilter::default()
    };
    let mut observations = store.list_experience(&filter).await?;
    observations.retain(|it| it.run != circumstances.run);
    Ok(experience(&observations, Some(&circumstances.triton)))
}

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

/// Characters kept of a target's name and of a reason.
const TARGET: usize = 80;
const REASON: usize = 240;

/// `text`, which may come from a candidate, as one clean line of at most `most` characters.
fn one_line(text: &str, most: usize) -> String {
    let line = cleaned(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some(_) => line.chars().take(most - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests;
