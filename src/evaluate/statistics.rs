//! Medians, and speedups with a bootstrap interval.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::kernel::Ratio;

/// Resamples behind an interval; the ends of a 95 % interval move by less than a tenth of its
/// width between seeds at this number.
const RESAMPLES: usize = 2000;

/// The median; `None` for an empty slice or one with a value that is not finite.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    Some(median_in_place(&mut sorted))
}

/// The mean of the middle half: as robust as the median against the few calls that something
/// disturbed, and finer where a clock counts in steps. `None` as for [`median`].
pub(crate) fn midmean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    let middle = &sorted[cut..sorted.len() - cut];
    Some(middle.iter().sum::<f64>() / middle.len() as f64)
}

fn median_in_place(values: &mut [f64]) -> f64 {
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(lower, upper)
}

/// A speedup from the rounds' log ratios (other's time over candidate's): the median, and the
/// bootstrap's 95 % interval of the median over rounds.
pub(crate) fn ratio(log_ratios: &[f64]) -> Option<Ratio> {
    weighted_ratio(&[(log_ratios, 1.0)])
}

/// The same over several cases, each with its weight: the weighted mean of the cases' medians. Each
/// case's rounds are drawn anew by themselves, since round 3 of one has nothing to do with round 3
/// of another.
///
/// The percentile interval of a few rounds is too narrow (87 % instead of 95 % for the median of 7),
/// so its percentiles are moved outwards as Hesterberg proposes ("What Teachers Should Know About
/// the Bootstrap", 2015, section 4.5.2). The resampling is seeded: the same rounds give the same
/// interval.
pub(crate) fn weighted_ratio(cases: &[(&[f64], f64)]) -> Option<Ratio> {
    let total: f64 = cases.iter().map(|(_, weight)| weight).sum();
    let mut center = 0.0;
    for (rounds, weight) in cases {
        center += median(rounds)? * weight / total;
    }
    let least = cases.iter().map(|(rounds, _)| rounds.len()).min()?;
    let mut rng = ChaCha8Rng::seed_from_u64(0x6b65_726e_656c);
    let mut resample = Vec::new();
    let mut draw = || -> f64 {
        cases
            .iter()
            .map(|(rounds, weight)| {
                resample.clear();
                resample.extend(rounds.iter().map(|_| rounds[rng.random_range(0..rounds.len())]));
                median_in_place(&mut resample) * weight / total
            })
            .sum()
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| draw()).collect();
    means.sort_unstable_by(f64::total_cmp);
    let share = outer_share(least);
    let percentile = |share: f64| means[((RESAMPLES - 1) as f64 * share).round() as usize];
    Some(Ratio {
        median: center.exp(),
        low: percentile(share).exp(),
        high: percentile(1.0 - share).exp(),
        rounds: u32::try_from(least).unwrap_or(u32::MAX),
    })
}

/// The share of resamples below a 95 % interval that rests on `rounds` rounds: what the normal
/// distribution has below `-sqrt(n / (n - 1))` times Student's quantile; 2.5 % for many.
fn outer_share(rounds: usize) -> f64 {
    if rounds < 2 {
        return 0.0;
    }
    let (n, z) = (rounds as f64, 1.959_964_f64);
    let freedom = n - 1.0;
    // Student's quantile by the first terms of its Cornish-Fisher expansion.
    let student = z
        + (z.powi(3) + z) / (4.0 * freedom)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z)
            / (384.0 * freedom.powi(3));
    below(-(n / freedom).sqrt() * student)
}

/// The standard normal distribution function for negative `x`: Abramowitz and Stegun, 26.2.17.
fn below(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let polynomial = COEFFICIENTS.iter().rev().fold(0.0, |sum, c| (sum + c) * t);
    (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() * polynomial
}

/// Median |log ratio| of consecutive measurements of one thing: what noise alone does.
pub(crate) fn noise_floor(times: &[f64]) -> f64 {
    let steps: Vec<f64> = times.windows(2).map(|pair| (pair[1] / pair[0]).ln().abs()).collect();
    median(&steps).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_broken_lists() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn the_mean_of_the_middle_half_is_fine_and_robust() {
        assert_eq!(midmean(&[5.0, 5.0, 5.032, 5.032, 900.0]), Some((5.0 + 5.032 + 5.032) / 3.0));
        assert_eq!(midmean(&[2.0, 4.0]), Some(3.0));
        assert_eq!(midmean(&[]), None);
    }

    #[test]
    fn an_interval_holds_the_truth_about_as_often_as_it_says() {
        let truth = 1.05_f64.ln();
        for rounds in [7, 15] {
            let mut rng = ChaCha8Rng::seed_from_u64(rounds);
            let covered = (0..200)
                .filter(|_| {
                    let noise = |rng: &mut ChaCha8Rng| {
                        (0..4).map(|_| rng.random::<f64>() - 0.5).sum::<f64>() * 0.02
                    };
                    let times: Vec<f64> = (0..rounds).map(|_| truth + noise(&mut rng)).collect();
                    let ratio = ratio(&times).unwrap();
                    ratio.low <= 1.05 && 1.05 <= ratio.high
                })
                .count();
            assert!((182..=200).contains(&covered), "{covered} of 200 with {rounds} rounds");
        }
    }

    #[test]
    fn cases_count_by_their_weight_whatever_their_number_of_rounds() {
        let (double, same) = (vec![2.0_f64.ln(); 9], vec![0.0; 7]);
        let ratio = weighted_ratio(&[(&double, 1.0), (&same, 3.0)]).unwrap();
        assert!((ratio.median - 2.0_f64.powf(0.25)).abs() < 1e-12);
        assert_eq!((ratio.rounds, ratio.low), (7, ratio.high));
        assert_eq!(weighted_ratio(&[(&double, 1.0), (&[], 1.0)]), None);
        assert_eq!(weighted_ratio(&[]), None);
    }

    #[test]
    fn the_same_rounds_give_the_same_interval_and_outliers_do_not_move_it() {
        let mut rounds = vec![0.1; 15];
        rounds[3] = 4.0;
        let first = ratio(&rounds).unwrap();
        assert_eq!(first, ratio(&rounds).unwrap());
        assert!((first.high - 0.1_f64.exp()).abs() < 1e-12);
        assert_eq!(noise_floor(&[1.0]), 0.0);
    }
}
