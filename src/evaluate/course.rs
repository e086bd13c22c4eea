//! When a race is over: which rounds count, and when more of them would change nothing.

use super::{
    race::{Round, Times},
    statistics::midmean,
};
use crate::kernel::Ratio;

/// How wide an interval may be for its middle to rank a candidate, as a share of it.
const NARROW: f64 = 0.02;

/// How many rounds a race has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// At most; disturbed ones do not count, up to as many again and while there is time.
    pub most: u32,
    /// Not fewer, whatever time it takes.
    pub least: u32,
    /// After so many the interval may end the race.
    pub decisive: u32,
    /// After these seconds there are no more than `least`.
    pub seconds: f64,
    /// The speedup over the baseline that is asked about: once the interval lies on one side of
    /// it there are no more rounds.
    pub gamma: f64,
    /// Whether the baseline takes part.
    pub paired: bool,
}

/// The rounds so far, and whether they are enough.
#[derive(Debug)]
pub(super) struct Course {
    rounds: Rounds,
    pub(super) times: Times,
    /// Rounds begun, the disturbed ones included.
    pub(super) number: u64,
    /// Disturbed rounds that may still be thrown away.
    allowance: u32,
    pub(super) over: bool,
}

impl Course {
    pub(super) fn new(rounds: Rounds) -> Self {
        Self { rounds, times: Times::default(), number: 0, allowance: rounds.most, over: false }
    }

    pub(super) fn take(&mut self, round: Round, disturbance: Option<String>, seconds: f64) {
        self.number += 1;
        let times = &mut self.times;
        for (lane, why) in &round.failed {
            times.lane(*lane).clear();
            times.failed.push((*lane, why.clone()));
        }
        let late = seconds > self.rounds.seconds;
        if let Some(disturbance) = disturbance {
            times.disturbance = Some(disturbance);
            if self.allowance > 0 && !late {
                self.allowance -= 1;
                times.disturbed += 1;
                return;
            }
            times.disturbed_kept += 1;
        }
        for (lane, us) in &round.times {
            times.lane(*lane).push(*us);
        }
        times.host.extend(round.burst.host_us);
        times.backward.extend(round.burst.backward_us.as_deref().and_then(midmean));
        times.error = times.error.max(round.burst.error);
        let made = u32::try_from(times.candidate.len()).unwrap_or(u32::MAX);
        let decided =
            || times.speedup(&times.baseline).is_some_and(|ratio| decided(ratio, &self.rounds));
        self.over = made >= self.rounds.most
            || made >= self.rounds.least && late
            || made >= self.rounds.decisive && decided()
            // Without a single time there is nothing to wait for.
            || made == 0;
    }
}

/// Whether more rounds would change nothing: clearly short of γ, or clearly past it with an
/// interval that is narrow enough to rank by.
fn decided(ratio: Ratio, rounds: &Rounds) -> bool {
    let narrow = ratio.high - ratio.low <= NARROW * ratio.median;
    ratio.high < rounds.gamma || ratio.low > rounds.gamma && narrow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::race::Lane;

    const ROUNDS: Rounds =
        Rounds { most: 20, least: 5, decisive: 6, seconds: 1.0, gamma: 1.03, paired: true };

    fn ratio(low: f64, median: f64, high: f64) -> Ratio {
        Ratio { median, low, high, rounds: 7 }
    }

    #[test]
    fn a_race_is_decided_when_its_interval_lies_on_one_side_of_gamma() {
        assert!(decided(ratio(0.80, 0.85, 0.90), &ROUNDS), "slower");
        assert!(decided(ratio(1.00, 1.01, 1.02), &ROUNDS), "no gain that counts");
        assert!(decided(ratio(1.99, 2.00, 2.01), &ROUNDS), "faster, and known well");
        assert!(!decided(ratio(1.02, 1.04, 1.06), &ROUNDS), "either may be true");
        assert!(!decided(ratio(1.80, 2.00, 2.20), &ROUNDS), "faster, but by how much?");
    }

    /// A race whose baseline takes `speedup` times as long as the candidate, with noise that the
    /// paired rounds share.
    fn run(speedup: f64, disturbed: &[u64], rounds: Rounds) -> Course {
        let mut course = Course::new(rounds);
        while !course.over {
            let number = course.number;
            let drift = 1.0 + 0.05 * number as f64;
            let wobble = 1.0 + 0.001 * (number % 3) as f64;
            let round = Round {
                times: vec![
                    (Lane::Baseline, 100.0 * speedup * drift),
                    (Lane::Candidate, 100.0 * drift * wobble),
                ],
                ..Round::default()
            };
            let disturbance = disturbed.contains(&number).then(|| "too hot".to_owned());
            course.take(round, disturbance, 0.01 * number as f64);
        }
        course
    }

    #[test]
    fn a_race_ends_as_soon_as_it_is_decided_and_drift_meets_both_alike() {
        let clear = run(1.5, &[], ROUNDS);
        assert_eq!(clear.times.candidate.len(), 6);
        let ratio = clear.times.speedup(&clear.times.baseline).unwrap();
        assert!((ratio.median - 1.5).abs() < 0.002, "{ratio:?}");
        assert_eq!(run(0.9, &[], ROUNDS).times.candidate.len(), 6);
        let close = run(1.0305, &[], ROUNDS);
        assert_eq!(close.times.candidate.len(), 20, "undecided to the end");
        let alone = Rounds { most: 8, ..ROUNDS };
        let mut unpaired = Course::new(alone);
        while !unpaired.over {
            let times = vec![(Lane::Candidate, 5.0)];
            unpaired.take(Round { times, ..Round::default() }, None, 0.0);
        }
        assert_eq!(unpaired.times.candidate.len(), 8);
    }

    #[test]
    fn disturbed_rounds_are_thrown_away_and_counted_but_not_for_ever() {
        let some = run(1.5, &[0, 2, 3], ROUNDS).times;
        assert_eq!((some.candidate.len(), some.disturbed, some.disturbed_kept), (6, 3, 0));
        let always: Vec<u64> = (0..100).collect();
        let all = run(1.5, &always, ROUNDS).times;
        assert_eq!((all.candidate.len(), all.disturbed, all.disturbed_kept), (6, 20, 6));
        let late = run(1.5, &always, Rounds { seconds: 0.055, ..ROUNDS }).times;
        assert_eq!((late.candidate.len(), late.disturbed, late.disturbed_kept), (5, 6, 5));
    }

    #[test]
    fn a_lane_that_breaks_off_is_left_out_and_the_others_race_on() {
        let mut course = Course::new(Rounds { most: 6, ..ROUNDS });
        for number in 0..6 {
            let both = [(Lane::Candidate, 5.0), (Lane::Compile, 6.0)];
            let times = if number < 2 { both.to_vec() } else { vec![both[0]] };
            let failed = (number == 2).then(|| (Lane::Compile, "out of memory".to_owned()));
            let failed = failed.into_iter().collect();
            course.take(Round { times, failed, ..Round::default() }, None, 0.0);
        }
        assert!(course.over && course.times.compile.is_empty());
        assert_eq!(course.times.failed.len(), 1);
        assert_eq!(course.times.candidate.len(), 6);
    }
}
