//! The clock outside: what a child reports of a burst against what passed here meanwhile.
//!
//! Device times can only be read in the process that ran the candidate, so they are believed within
//! what the parent's own clock allows: all calls together cannot have taken longer than the burst,
//! and the burst cannot have taken much longer than its calls and what surrounds them.

use super::{
    protocol::{BurstPlan, Timed},
    statistics::median,
};

/// A burst may end early, but not before this many calls (`timing.py` keeps the same number).
pub(super) const LEAST_CALLS: usize = 3;

/// Time that is left unexplained must be more than this, microseconds, for a burst and for each of
/// its calls, and more than was reported, before it speaks against the report: scheduling and
/// collecting garbage take some. On an H200 with a compiler on every core 250 µs a call were seen
/// for an honest kernel.
const LEAST_UNEXPLAINED_US: f64 = 2_000.0;
const LEAST_UNEXPLAINED_A_CALL_US: f64 = 150.0;

/// The same for the median of many bursts, which scheduling does not move. The child's own work
/// around a call is not all in what is measured without the calls.
const LEAST_AT_MEDIAN_US: f64 = 1_500.0;
const LEAST_A_CALL_US: f64 = 180.0;
const BURSTS_FOR_A_MEDIAN: usize = 5;

/// Around a burst and around each of its calls where nobody measured it: the wire, the
/// interpreter, a synchronisation. Microseconds.
const AROUND_BURST_US: f64 = 1_000.0;
const AROUND_CALL_US: f64 = 60.0;

/// Bytes a microsecond at which a data-centre GPU overwrites memory.
const FLUSH_SPEED: f64 = 2_000_000.0;

/// Waiting for an idle device takes some microseconds, and up to 70 where other processes have
/// contexts on it (seen on an H200). When it takes far longer after every single call, and longer
/// than the call itself, the device was not idle.
const LONGEST_TAIL_US: f64 = 250.0;

/// One look at a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    pub(super) timed: &'a Timed,
    pub(super) plan: &'a BurstPlan,
    /// From the request to its answer, microseconds.
    pub(super) passed_us: f64,
}

impl Look<'_> {
    fn reported_us(&self) -> f64 {
        self.timed.device_us.iter().sum()
    }

    /// What no burst can be: other than as many calls as were asked for (or enough of them by
    /// their sum), or calls that took longer together than the burst.
    pub(super) fn impossible(&self) -> Option<String> {
        let (times, asked) = (&self.timed.device_us, self.plan.repeat as usize);
        let reported = self.reported_us();
        let whole = times.len() == asked
            || (LEAST_CALLS..asked).contains(&times.len())
                && reported >= self.plan.enough_us as f64;
        let sound = whole && times.iter().all(|us| us.is_finite() && *us > 0.0);
        let passed = self.passed_us;
        (!sound || reported > passed).then(|| {
            format!(
                "reported {} timed calls of {reported:.1} µs together; asked for {asked} calls, \
                 and {passed:.1} µs passed",
                times.len()
            )
        })
    }

    /// What a burst takes without its calls, where nobody measured it, microseconds.
    pub(super) fn usual_surroundings_us(&self) -> f64 {
        let plan = self.plan;
        let a_call = plan.wait_us + plan.flush_bytes as f64 / FLUSH_SPEED + AROUND_CALL_US;
        AROUND_BURST_US + a_call * self.timed.device_us.len() as f64
    }

    /// The time that is left when `without_calls_us` and what was reported are taken away, if it
    /// is too much to be noise.
    pub(super) fn unexplained_us(&self, without_calls_us: f64) -> Option<f64> {
        let left = self.passed_us - without_calls_us - self.reported_us();
        let calls = self.timed.device_us.len() as f64;
        let least = LEAST_UNEXPLAINED_US + LEAST_UNEXPLAINED_A_CALL_US * calls;
        (left > least && left > self.reported_us()).then_some(left)
    }

    /// The two numbers of a burst that took much longer than was reported.
    pub(super) fn contradiction(&self, without_calls_us: f64) -> Option<String> {
        self.unexplained_us(without_calls_us)?;
        Some(format!(
            "reported {:.1} µs for {} timed calls together, while the clock outside shows {:.1} µs \
             for them ({:.1} µs passed, {without_calls_us:.1} µs of it without the calls)",
            self.reported_us(),
            self.timed.device_us.len(),
            self.passed_us - without_calls_us,
            self.passed_us,
        ))
    }

    /// Work that went on after every call when the caller's stream was done with it.
    pub(super) fn work_after_the_call(&self) -> Option<String> {
        let tails = &self.timed.tail_us;
        let shortest = tails.iter().copied().fold(f64::INFINITY, f64::min);
        let (tail, call) = (median(tails)?, median(&self.timed.device_us)?);
        if tails.len() < LEAST_CALLS || shortest <= LONGEST_TAIL_US || tail <= call {
            return None;
        }
        Some(format!(
            "work continued on the device after each of {} timed calls, for {tail:.1} µs (median) \
             after the caller's stream was done; a call was reported to take {call:.1} µs",
            tails.len(),
        ))
    }
}

/// Burst after burst of one case: a share of each that is too small to tell from noise is not
/// when every burst has it.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    left_us: Vec<f64>,
    reported_us: Vec<f64>,
    calls: usize,
}

impl Ledger {
    pub(super) fn add(&mut self, look: &Look<'_>, without_calls_us: f64) {
        self.left_us.push(look.passed_us - without_calls_us - look.reported_us());
        self.reported_us.push(look.reported_us());
        self.calls = self.calls.max(look.timed.device_us.len());
    }

    /// The two numbers, if in the middle one of at least 5 bursts more than what was reported is
    /// unexplained.
    pub(super) fn contradiction(&self) -> Option<String> {
        let (left, reported) = (median(&self.left_us)?, median(&self.reported_us)?);
        let least = LEAST_AT_MEDIAN_US.max(LEAST_A_CALL_US * self.calls as f64).max(reported);
        if self.left_us.len() < BURSTS_FOR_A_MEDIAN || left <= least {
            return None;
        }
        Some(format!(
            "reported {reported:.1} µs for a burst of timed calls, while the clock outside shows \
             {:.1} µs for the calls (medians of {} bursts)",
            reported + left,
            self.left_us.len()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: BurstPlan = BurstPlan {
        warmup: 0,
        repeat: 10,
        enough_us: 500_000,
        flush_bytes: 120 << 20,
        wait_us: 100.0,
        keep: 0,
    };

    fn timed(calls: usize, us: f64) -> Timed {
        Timed {
            device_us: vec![us; calls],
            host_us: Some(20.0),
            tail_us: vec![6.0; calls],
            kept: Vec::new(),
            observed: Vec::new(),
        }
    }

    fn look(timed: &Timed, passed_us: f64) -> Look<'_> {
        Look { timed, plan: &PLAN, passed_us }
    }

    #[test]
    fn calls_cannot_have_taken_longer_than_the_burst_nor_be_others_than_were_asked_for() {
        assert_eq!(look(&timed(10, 300.0), 6_000.0).impossible(), None);
        let reason = look(&timed(10, 700.0), 6_000.0).impossible().unwrap();
        assert!(reason.contains("7000.0 µs") && reason.contains("6000.0 µs passed"), "{reason}");
        for odd in [timed(9, 300.0), timed(10, -1.0), timed(10, f64::NAN), timed(2, 300_000.0)] {
            assert!(look(&odd, 1e9).impossible().is_some());
        }
        let enough = timed(3, 200_000.0);
        assert_eq!(look(&enough, 700_000.0).impossible(), None, "they took enough together");
    }

    #[test]
    fn a_fiftieth_of_the_time_is_not_believed() {
        // Ten calls of 3.2 ms that were reported as 64 µs each.
        let forged = timed(10, 64.0);
        let burst = look(&forged, 35_000.0);
        assert!(burst.unexplained_us(burst.usual_surroundings_us()).is_some());
        let reason = burst.contradiction(3_000.0).unwrap();
        assert!(reason.contains("640.0 µs") && reason.contains("32000.0 µs"), "{reason}");
    }

    #[test]
    fn noise_around_a_burst_accuses_nobody() {
        for (kernel_us, noise_us) in [(5.0, 900.0), (50.0, 900.0), (3_200.0, 10_000.0)] {
            let honest = timed(10, kernel_us);
            let burst = look(&honest, 3_000.0 + 10.0 * kernel_us + noise_us);
            assert_eq!(burst.contradiction(3_000.0), None, "{kernel_us} µs");
        }
    }

    #[test]
    fn what_a_burst_hides_shows_in_many() {
        let (forged, honest) = (timed(8, 1.0), timed(8, 220.0));
        let (mut forger, mut other) = (Ledger::default(), Ledger::default());
        for noise_us in [0.0, 40.0, 200.0, 15.0, 60.0, 5.0] {
            let passed_us = 2_000.0 + 8.0 * 220.0 + noise_us;
            assert_eq!(look(&forged, passed_us).contradiction(2_000.0), None, "too small for one");
            forger.add(&look(&forged, passed_us), 2_000.0);
            other.add(&look(&honest, passed_us), 2_000.0);
        }
        let reason = forger.contradiction().unwrap();
        assert!(reason.contains("reported 8.0 µs") && reason.contains("medians of 6"), "{reason}");
        assert_eq!(other.contradiction(), None);
    }

    #[test]
    fn work_behind_the_callers_back_shows_after_every_call() {
        let mut beside = timed(5, 3.0);
        beside.tail_us = vec![960.0, 990.0, 970.0, 2400.0, 980.0];
        let reason = look(&beside, 9_000.0).work_after_the_call().unwrap();
        assert!(reason.contains("980.0 µs (median)"), "{reason}");
        beside.tail_us[2] = 5.0;
        assert_eq!(look(&beside, 9_000.0).work_after_the_call(), None, "one was idle: noise");
        let mut long = timed(5, 3_100.0);
        long.tail_us = vec![260.0; 5];
        assert_eq!(look(&long, 30_000.0).work_after_the_call(), None, "slow to notice the end");
    }
}
