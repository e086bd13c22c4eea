//! The final word on a time: what Nsight Compute measures of the kernels themselves.
//!
//! A candidate's process reports its device times, within what the clock outside allows. The profiler
//! measures each kernel by the hardware's own counter, in another process: a call cannot have taken
//! less than its kernels.

use crate::kernel::Profile;

/// The profiler may find a call this much slower before that speaks against what was reported: it
/// runs kernels one at a time, at the clocks of a device that idled before.
const FACTOR: f64 = 1.5;
/// The same of a call with several kernels, each of which the profiler starts with cold caches.
const FACTOR_OF_SEVERAL: f64 = 2.0;
/// And this much, microseconds, for a call and for each of its kernels.
const SLACK_US: f64 = 10.0;
const SLACK_A_KERNEL_US: f64 = 3.0;

/// How many times `reported_us`, the time of a call on the profile's case, its kernels take.
pub fn excess(profile: &Profile, reported_us: f64) -> f64 {
    profile.least_call_us() / reported_us
}

/// What speaks against `reported_us`, in words, with both numbers. `usual` is the excess that was
/// found for the baseline: the same is no fault of a candidate's.
pub fn doubt(profile: &Profile, reported_us: f64, usual: Option<f64>) -> Option<String> {
    let (least, kernels) = (profile.least_call_us(), profile.kernels.len());
    let factor = if kernels > 1 { FACTOR_OF_SEVERAL } else { FACTOR };
    let allowed = factor * usual.unwrap_or(1.0).max(1.0) * reported_us
        + SLACK_US
        + SLACK_A_KERNEL_US * kernels as f64;
    (least > allowed).then(|| {
        format!(
            "reported {reported_us:.1} µs a call, while Nsight Compute measures {least:.1} µs for {}",
            if kernels == 1 { "its kernel".to_owned() } else { format!("its {kernels} kernels") }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelProfile;

    fn profile(kernels: &[(&str, f64)]) -> Profile {
        let kernels = kernels.iter().map(|(stream, us)| KernelProfile {
            stream: (!stream.is_empty()).then(|| (*stream).to_owned()),
            duration_us: *us,
            ..KernelProfile::default()
        });
        Profile { kernels: kernels.collect(), ..Profile::default() }
    }

    #[test]
    fn a_time_that_its_kernels_do_not_fit_into_is_doubted_with_both_numbers() {
        let slow = profile(&[("7", 3_200.0)]);
        assert!((excess(&slow, 64.0) - 50.0).abs() < 1e-9);
        assert_eq!(
            doubt(&slow, 64.0, None).unwrap(),
            "reported 64.0 µs a call, while Nsight Compute measures 3200.0 µs for its kernel"
        );
        assert!(doubt(&profile(&[("7", 2_000.0), ("7", 1_200.0)]), 64.0, None).is_some());
    }

    #[test]
    fn cold_caches_low_clocks_and_short_kernels_accuse_nobody() {
        assert_eq!(doubt(&profile(&[("7", 130.0)]), 100.0, None), None);
        assert_eq!(doubt(&profile(&[("7", 4.0); 8]), 12.0, None), None, "launches of 4 µs each");
    }

    #[test]
    fn streams_may_run_beside_each_other() {
        assert_eq!(
            doubt(&profile(&[("7", 100.0), ("13", 100.0), ("14", 90.0)]), 105.0, None),
            None
        );
        assert!(doubt(&profile(&[("7", 300.0), ("13", 100.0)]), 105.0, None).is_some());
        assert_eq!(doubt(&profile(&[("", 100.0), ("", 100.0)]), 105.0, None), None, "not told");
    }

    #[test]
    fn what_is_found_of_the_baseline_too_is_no_fault_of_a_candidate() {
        let twice = profile(&[("7", 200.0)]);
        assert!(doubt(&twice, 90.0, None).is_some());
        let usual = excess(&twice, 90.0);
        assert_eq!(doubt(&twice, 90.0, Some(usual)), None);
        assert!(doubt(&twice, 40.0, Some(usual)).is_some());
    }
}
