//! The speed of light as arithmetic: the roofline model (Williams, Waterman and Patterson, 2009) with
//! a launch floor, and the narrower limit that no sound measurement can break.

use super::{Bound, Ceilings, Limiter, Precision, Work};

/// Microseconds for `bytes` at `gbps` GB/s.
fn transfer_us(bytes: f64, gbps: f64) -> f64 {
    bytes / gbps * 1e-3
}

/// The bound of a case: the largest of computing, moving the least bytes, and launching a kernel.
/// It rests on calibrated figures and steers; algebra can save operations, so that it may be beaten.
/// `None` where the ceilings say nothing about it.
pub fn bound(work: &Work, ceilings: &Ceilings) -> Option<Bound> {
    let candidates = [
        (compute_us(work, ceilings), Limiter::Compute),
        (traffic_us(work, ceilings), Limiter::Traffic),
        (ceilings.launch_floor_us, Limiter::Launch),
    ];
    let (us, limiter) = candidates
        .into_iter()
        .filter_map(|(us, limiter)| Some((us.filter(|us| us.is_finite() && *us > 0.0)?, limiter)))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Bound { us, limiter, flops: work.total_flops(), bytes: work.bytes() })
}

/// Products one after another, each at the rate of its format; everything else beside them on the
/// units for single floats.
fn compute_us(work: &Work, ceilings: &Ceilings) -> Option<f64> {
    let us = |flops: f64, tera: f64| flops / tera * 1e-6;
    let mut products = 0.0;
    for (precision, flops) in &work.flops {
        products += us(*flops, rate(*precision, ceilings)?);
    }
    let single = ceilings.products.get(&Precision::Fp32);
    Some(products.max(single.map_or(0.0, |tera| us(work.elementwise, *tera))))
}

/// Operations a second for operands of a format. Products of single floats count at the rate of
/// TF32, in which a kernel may compute them where the tolerance allows.
fn rate(precision: Precision, ceilings: &Ceilings) -> Option<f64> {
    let of = |precision| ceilings.products.get(&precision).copied();
    match precision {
        Precision::Fp32 => of(Precision::Tf32).into_iter().chain(of(precision)).reduce(f64::max),
        other => of(other),
    }
}

/// What is both read and written moves as in a copy, the rest at the better of the two measured
/// bandwidths: a kernel that mostly reads can be faster than a copy.
fn traffic_us(work: &Work, ceilings: &Ceilings) -> Option<f64> {
    let (read, copy) = (ceilings.read_gbps, ceilings.copy_gbps);
    let best = read.into_iter().chain(copy).reduce(f64::max).or(ceilings.theoretical_gbps)?;
    let copied = 2 * work.bytes_in.min(work.bytes_out);
    let rest = work.bytes() - copied.min(work.bytes());
    Some(transfer_us(copied as f64, copy.unwrap_or(best)) + transfer_us(rest as f64, best))
}

/// No kernel ends sooner, whatever it computes, microseconds.
const LEAST_LAUNCH_US: f64 = 0.5;

/// Share of the measured launch floor that no kernel falls below.
const LAUNCH_MARGIN: f64 = 0.5;

/// The limit that rejects: no sound measurement lies below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Soonest {
    /// Microseconds.
    pub us: f64,
    /// [`Limiter::Traffic`] or [`Limiter::Launch`].
    pub limiter: Limiter,
    /// Bytes that must cross the memory's bus.
    pub bytes: u64,
}

/// The larger of a launch and of the time in which inputs, and outputs beyond what the L2 cache can
/// keep, cross the bus at its theoretical bandwidth. Half the measured launch floor counts, and no
/// operations at all: what is not certain must not reject.
pub fn soonest(work: &Work, ceilings: &Ceilings) -> Soonest {
    let launch = ceilings.launch_floor_us.map_or(0.0, |us| LAUNCH_MARGIN * us).max(LEAST_LAUNCH_US);
    let written = ceilings.l2_bytes.map_or(0, |l2| work.bytes_out.saturating_sub(l2));
    let bytes = work.bytes_in.saturating_add(written);
    let traffic = ceilings.theoretical_gbps.map_or(0.0, |gbps| transfer_us(bytes as f64, gbps));
    if traffic > launch {
        Soonest { us: traffic, limiter: Limiter::Traffic, bytes }
    } else {
        Soonest { us: launch, limiter: Limiter::Launch, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An H200, as measured.
    fn h200() -> Ceilings {
        Ceilings {
            theoretical_gbps: Some(4916.7),
            read_gbps: Some(4500.0),
            copy_gbps: Some(4250.0),
            l2_bytes: Some(60 << 20),
            launch_floor_us: Some(2.2),
            products: [(Precision::Fp32, 51.0), (Precision::Tf32, 400.0), (Precision::Bf16, 750.0)]
                .into(),
            ..Ceilings::default()
        }
    }

    fn work(flops: &[(Precision, f64)], bytes_in: u64, bytes_out: u64) -> Work {
        Work { flops: flops.iter().copied().collect(), bytes_in, bytes_out, ..Work::default() }
    }

    fn close(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 1e-3
    }

    #[test]
    fn a_product_is_bound_by_compute_and_a_copy_by_traffic() {
        let n = 8192_f64;
        let matrix = 2 * 8192 * 8192;
        let product = work(&[(Precision::Bf16, 2.0 * n * n * n)], 2 * matrix, matrix);
        let bound_of_product = bound(&product, &h200()).unwrap();
        assert_eq!(bound_of_product.limiter, Limiter::Compute);
        assert!(close(bound_of_product.us, 1466.0), "{bound_of_product:?}");

        let copy = bound(&work(&[], 1 << 30, 1 << 30), &h200()).unwrap();
        assert_eq!(copy.limiter, Limiter::Traffic);
        assert!(close(copy.us, (2.0 * 1_073_741_824.0) / 4250.0 * 1e-3), "{copy:?}");
        assert_eq!(copy.headroom(Some(2.0 * copy.us)), Some(2.0));
    }

    #[test]
    fn reading_is_not_bound_by_what_a_copy_reaches() {
        // matvec/tall: 4.3 GB read, next to nothing written.
        let matvec = bound(&work(&[], 4_294_967_296, 8192), &h200()).unwrap();
        assert!(close(matvec.us, 4_294_967_296.0 / 4500.0 * 1e-3), "{matvec:?}");
    }

    #[test]
    fn what_is_small_is_bound_by_its_launch() {
        let tiny = bound(&work(&[], 4096, 4096), &h200()).unwrap();
        assert_eq!((tiny.us, tiny.limiter), (2.2, Limiter::Launch));
    }

    #[test]
    fn single_floats_may_be_multiplied_in_tf32() {
        let product = work(&[(Precision::Fp32, 4e11)], 1 << 20, 1 << 20);
        assert!(close(bound(&product, &h200()).unwrap().us, 1000.0));
        let without = Ceilings { products: [(Precision::Fp32, 50.0)].into(), ..h200() };
        assert!(close(bound(&product, &without).unwrap().us, 8000.0));
    }

    #[test]
    fn an_unknown_rate_leaves_the_bound_to_the_others() {
        let product = work(&[(Precision::Int8, 1e15)], 1 << 30, 0);
        assert_eq!(bound(&product, &h200()).unwrap().limiter, Limiter::Traffic);
        assert_eq!(bound(&product, &Ceilings::default()), None);
        let theoretical = Ceilings { theoretical_gbps: Some(1000.0), ..Ceilings::default() };
        assert!(close(bound(&work(&[], 1_000_000, 0), &theoretical).unwrap().us, 1.0));
    }

    #[test]
    fn elementwise_work_runs_beside_products() {
        let mut softmax = work(&[], 1, 1);
        softmax.elementwise = 51e9;
        assert!(close(bound(&softmax, &h200()).unwrap().us, 1000.0));
        softmax.flops.insert(Precision::Bf16, 750e9);
        assert!(close(bound(&softmax, &h200()).unwrap().us, 1000.0), "neither adds to the other");
    }

    #[test]
    fn outputs_that_the_cache_can_keep_take_no_time_for_certain() {
        let kept = soonest(&work(&[], 1 << 30, 60 << 20), &h200());
        assert!(close(kept.us, 1_073_741_824.0 / 4916.7 * 1e-3), "{kept:?}");
        let written = soonest(&work(&[], 1 << 30, 1 << 30), &h200());
        assert_eq!(written.bytes, (2 << 30) - (60 << 20));
        assert_eq!(written.limiter, Limiter::Traffic);
    }

    #[test]
    fn nothing_is_impossible_for_want_of_figures() {
        let unknown =
            soonest(&work(&[(Precision::Bf16, 1e18)], 1 << 40, 1 << 40), &Ceilings::default());
        assert_eq!((unknown.us, unknown.limiter), (LEAST_LAUNCH_US, Limiter::Launch));
        assert!(close(soonest(&work(&[], 1, 1), &h200()).us, 1.1));
    }
}
