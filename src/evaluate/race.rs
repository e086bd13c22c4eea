//! Paired racing: contestants take turns within rounds, in an order that is drawn anew for each, on
//! the same fresh inputs, so that what drifts on the device meets all of them alike.

use std::{fmt, time::Instant};

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{
    burst::{Burst, Challenge},
    course::{Course, Rounds},
    error::EvaluateError,
    judge::Stop,
    protocol::Timing,
    statistics::{midmean, ratio},
    subject::Subject,
};
use crate::kernel::Ratio;

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Candidate,
    Baseline,
    Incumbent,
    Eager,
    Compile,
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Candidate => "the candidate",
            Self::Baseline => "the baseline",
            Self::Incumbent => "the best before",
            Self::Eager => "eager PyTorch",
            Self::Compile => "torch.compile",
        })
    }
}

/// A candidate on the case it races on, called before with the inputs of `seed`.
#[derive(Debug)]
pub(super) struct Entrant<'r, 'p> {
    pub(super) subject: &'r mut Subject<'p>,
    pub(super) seed: u64,
    pub(super) case: usize,
}

/// Whom it races against. All of them have been called on the case before.
#[derive(Debug, Default)]
pub(super) struct Opponents<'r, 'p> {
    pub(super) baseline: Option<&'r mut Subject<'p>>,
    pub(super) incumbent: Option<&'r mut Subject<'p>>,
    /// Eager PyTorch and `torch.compile`.
    pub(super) pytorch: bool,
}

/// Times of one case, a value a round, microseconds; a lane that did not run is empty.
#[derive(Debug, Default)]
pub(super) struct Times {
    pub(super) candidate: Vec<f64>,
    pub(super) baseline: Vec<f64>,
    pub(super) incumbent: Vec<f64>,
    pub(super) eager: Vec<f64>,
    pub(super) compile: Vec<f64>,
    pub(super) backward: Vec<f64>,
    pub(super) host: Vec<f64>,
    /// Largest deviation of an answer that was compared.
    pub(super) error: f64,
    /// Rounds that were thrown away, and why the last one was.
    pub(super) disturbed: u32,
    pub(super) disturbance: Option<String>,
    /// Rounds that were kept although they were disturbed too.
    pub(super) disturbed_kept: u32,
    /// Lanes that broke off, and why; they are there to compare with, not to be proved.
    pub(super) failed: Vec<(Lane, String)>,
}

impl Times {
    pub(super) fn lane(&mut self, lane: Lane) -> &mut Vec<f64> {
        match lane {
            Lane::Candidate => &mut self.candidate,
            Lane::Baseline => &mut self.baseline,
            Lane::Incumbent => &mut self.incumbent,
            Lane::Eager => &mut self.eager,
            Lane::Compile => &mut self.compile,
        }
    }

    /// The speedup over `other`, unless a lane did not run in every round.
    pub(super) fn speedup(&self, other: &[f64]) -> Option<Ratio> {
        ratio(&log_ratios(other, &self.candidate)?)
    }
}

/// Round by round; `None` unless both were timed in every round.
pub(super) fn log_ratios(other: &[f64], candidate: &[f64]) -> Option<Vec<f64>> {
    let whole = !other.is_empty() && other.len() == candidate.len();
    whole.then(|| other.iter().zip(candidate).map(|(o, c)| (o / c).ln()).collect())
}

/// What one round gave.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) times: Vec<(Lane, f64)>,
    pub(super) failed: Vec<(Lane, String)>,
    pub(super) burst: Burst,
}

/// Races, round after round, until it is decided.
pub(super) async fn race(
    mut entrant: Entrant<'_, '_>,
    mut opponents: Opponents<'_, '_>,
    timing: Timing,
    rounds: Rounds,
) -> Result<Times, Stop> {
    let mut lanes = vec![Lane::Candidate];
    lanes.extend(opponents.baseline.is_some().then_some(Lane::Baseline));
    lanes.extend(opponents.incumbent.is_some().then_some(Lane::Incumbent));
    lanes.extend(opponents.pytorch.then_some([Lane::Eager, Lane::Compile]).into_iter().flatten());
    warm_up(&mut entrant, &mut opponents, timing).await?;
    let mut order = ChaCha8Rng::seed_from_u64(entrant.seed);
    let plane = entrant.subject.plane;
    let started = Instant::now();
    let mut course = Course::new(rounds);
    while !course.over {
        lanes.shuffle(&mut order);
        let before = plane.monitor.condition();
        let seeds = round_seeds(entrant.seed, course.number, timing);
        let round = run_round(&mut entrant, &mut opponents, &lanes, &seeds, timing).await?;
        lanes.retain(|lane| round.failed.iter().all(|(failed, _)| failed != lane));
        let disturbance = plane.monitor.disturbance(&before);
        course.take(round, disturbance, started.elapsed().as_secs_f64());
    }
    entrant.subject.close_ledger(entrant.case)?;
    Ok(course.times)
}

async fn warm_up(
    entrant: &mut Entrant<'_, '_>,
    opponents: &mut Opponents<'_, '_>,
    timing: Timing,
) -> Result<(), Stop> {
    let (case, seed) = (entrant.case, entrant.seed);
    let inputs = entrant.subject.inputs(case, seed).await?;
    entrant.subject.warm_up(case, &inputs, timing).await?;
    for other in [&mut opponents.baseline, &mut opponents.incumbent].into_iter().flatten() {
        let inputs = other.inputs(case, seed).await?;
        // What goes wrong here goes wrong again when it is timed.
        if let Err(Stop::Fault(error)) = other.warm_up(case, &inputs, timing).await {
            return Err(error.into());
        }
    }
    Ok(())
}

async fn run_round(
    entrant: &mut Entrant<'_, '_>,
    opponents: &mut Opponents<'_, '_>,
    lanes: &[Lane],
    seeds: &[u64],
    timing: Timing,
) -> Result<Round, Stop> {
    let mut round = Round::default();
    for &lane in lanes {
        let challenge = Challenge {
            case: entrant.case,
            like: entrant.seed,
            seeds,
            passing: true,
            timing,
            judged: lane == Lane::Candidate,
            paced: lane == Lane::Candidate,
        };
        let timed = match lane {
            Lane::Candidate => {
                round.burst = entrant.subject.burst(&challenge).await?;
                Ok(midmean(&round.burst.device_us))
            }
            Lane::Baseline => time_other(opponents.baseline.as_deref_mut(), &challenge).await,
            Lane::Incumbent => time_other(opponents.incumbent.as_deref_mut(), &challenge).await,
            Lane::Eager => Ok(time_pytorch(entrant, "eager", timing).await?),
            Lane::Compile => {
                let timed = time_pytorch(entrant, "compile", timing).await;
                timed.map_err(|error| error.to_string())
            }
        };
        match timed {
            Ok(us) => round.times.extend(us.map(|us| (lane, us))),
            Err(why) => round.failed.push((lane, why)),
        }
    }
    Ok(round)
}

/// The inner text is why it cannot go on: that is not the candidate's fault.
async fn time_other(
    other: Option<&mut Subject<'_>>,
    challenge: &Challenge<'_>,
) -> Result<Option<f64>, String> {
    let Some(other) = other else { return Ok(None) };
    match other.burst(challenge).await {
        Ok(burst) => Ok(midmean(&burst.device_us)),
        Err(Stop::Rejected(rejection)) => Err(rejection.to_string()),
        Err(Stop::Fault(error)) => Err(error.to_string()),
    }
}

/// The reference itself, on inputs of its own.
async fn time_pytorch(
    entrant: &Entrant<'_, '_>,
    what: &str,
    timing: Timing,
) -> Result<Option<f64>, EvaluateError> {
    let plane = entrant.subject.plane;
    let case = &plane.contract.cases[entrant.case];
    let mut referee = plane.referee.lock().await;
    let timed = referee.time(entrant.case, case, entrant.seed, what, timing).await?;
    Ok(midmean(&timed.device_us))
}

/// Seeds of the input sets of one round: one a call, new in every round, 32 bits as generators
/// take them. The multiplications (those of splitmix64) keep neighbouring seeds apart.
pub(super) fn round_seeds(seed: u64, round: u64, timing: Timing) -> Vec<u64> {
    let calls = u64::from(timing.warmup + timing.repeat);
    (0..calls).map(|call| mixed(seed, round << 16 | call)).collect()
}

fn mixed(seed: u64, salt: u64) -> u64 {
    let mut z = seed.wrapping_add((salt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_calls_of_a_race_get_the_same_seed() {
        let timing = Timing { warmup: 1, repeat: 8, enough_us: 1, flush_bytes: 0 };
        let drawn: Vec<u64> = (0..30).flat_map(|round| round_seeds(7, round, timing)).collect();
        let distinct: HashSet<u64> = drawn.iter().copied().collect();
        assert_eq!(distinct.len(), 30 * 9);
        assert!(distinct.iter().all(|seed| *seed < 1 << 32));
        assert_eq!(round_seeds(7, 3, timing), round_seeds(7, 3, timing));
    }

    #[test]
    fn rounds_are_compared_only_where_both_were_timed() {
        assert_eq!(log_ratios(&[2.0, 2.0], &[1.0]), None);
        assert_eq!(log_ratios(&[], &[]), None);
        assert_eq!(log_ratios(&[1.0, 4.0], &[1.0, 2.0]), Some(vec![0.0, 2.0_f64.ln()]));
    }
}
