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
/// percentile bootstrap's 95 % interval of the median over rounds. The resampling is seeded, so
/// that the same rounds give the same interval.
pub(crate) fn ratio(log_ratios: &[f64]) -> Option<Ratio> {
    let center = median(log_ratios)?;
    let mut rng = ChaCha8Rng::seed_from_u64(0x6b65_726e_656c);
    let mut resample = vec![0.0; log_ratios.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for slot in &mut resample {
                *slot = log_ratios[rng.random_range(0..log_ratios.len())];
            }
            median_in_place(&mut resample)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    let percentile = |share: f64| medians[((RESAMPLES - 1) as f64 * share).round() as usize];
    Some(Ratio {
        median: center.exp(),
        low: percentile(0.025).exp(),
        high: percentile(0.975).exp(),
        rounds: u32::try_from(log_ratios.len()).unwrap_or(u32::MAX),
    })
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
    fn an_interval_holds_the_truth_about_as_often_as_it_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let truth = 1.05_f64.ln();
        let covered = (0..200)
            .filter(|_| {
                let rounds: Vec<f64> =
                    (0..25).map(|_| truth + 0.02 * (rng.random::<f64>() - 0.5)).collect();
                let ratio = ratio(&rounds).unwrap();
                ratio.low <= 1.05 && 1.05 <= ratio.high && ratio.rounds == 25
            })
            .count();
        assert!((180..=200).contains(&covered), "{covered} of 200");
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
