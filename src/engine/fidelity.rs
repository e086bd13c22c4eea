//! From a rung of the ladder to what the evaluation plane does.

use crate::{
    evaluate::{Device, Fidelity, ProofPlan, Rounds, Timing, VerifyPlan},
    kernel::Case,
    search::Ladder,
};

/// A burst of calls ends after this long, so that a baseline of 80 ms a call does not spend the
/// budget of the whole run on itself, microseconds.
const ENOUGH_US: u64 = 500_000;

/// The same within a round, of which there are several.
const ENOUGH_A_ROUND_US: u64 = 20_000;

/// Timed calls of one round of a race on a GPU, and one before them that does not count. As many
/// input sets as a referee keeps, so that each call has values of its own.
const ROUND_CALLS: u32 = 7;
const ROUND_LEAD: u32 = 1;

/// Seconds that a case of a middle rung may race, and of the top rung.
const MIDDLE_SECONDS: f64 = 0.5;
const TOP_SECONDS: f64 = 2.0;

/// The same on rung 0 of a GPU, which only ranks: a median of a few calls of milliseconds is within
/// a percent of one of many, and whoever is slow is pruned whatever the percent.
const SCREENING_US: u64 = 30_000;

/// How many times as long as the baseline a case may take on rung 0 before the candidate is given
/// up: beyond what an unpaired look at a kernel of a few microseconds is off. Nobody who is slower
/// on a case wins.
const HOPELESS: f64 = 1.1;
/// The same in the interpreter.
const HOPELESS_ON_CPU: f64 = 1.5;

/// How rungs translate on one device.
#[derive(Clone, Debug)]
pub(super) struct FidelityRule {
    pub(super) ladder: Ladder,
    pub(super) cases: Vec<Case>,
    pub(super) device: Device,
    pub(super) seed: u64,
    /// Written between two timed calls, bytes.
    pub(super) flush_bytes: u64,
    /// The least speedup that counts.
    pub(super) gamma: f64,
    /// Whether a candidate that is slower than the baseline on some case may win.
    pub(super) allow_regression: bool,
    /// Whether every candidate is measured to the end, however clear its case is: full evaluation,
    /// to compare with.
    pub(super) thorough: bool,
}

impl FidelityRule {
    pub(super) fn of_rung(&self, rung: usize) -> Fidelity {
        let level = &self.ladder.rungs()[rung.min(self.ladder.top())];
        let (timing, rounds) = match self.device {
            _ if rung == 0 => (self.screening(level.timing.warmup, level.timing.repeat), None),
            // One burst: a call can take a second, and nobody claims anything here.
            Device::Cpu => {
                let (timing, once) = (self.timing(0, level.timing.repeat), self.rounds(1, 1));
                (timing, Some(Rounds { paired: false, ..once }))
            }
            Device::Cuda { .. } => {
                let calls = (level.timing.repeat / 10).clamp(3, ROUND_CALLS);
                let most = level.timing.repeat.div_ceil(calls);
                (self.round(calls), Some(self.rounds(most, rung)))
            }
        };
        Fidelity {
            cases: self.ladder.cases_for(rung, &self.cases),
            seeds: self.seeds(level.seeds),
            timing,
            quiet: rung > 0,
            rounds,
            hopeless_at: (rung == 0 && !self.allow_regression && !self.thorough).then_some(
                match self.device {
                    Device::Cpu => HOPELESS_ON_CPU,
                    Device::Cuda { .. } => HOPELESS,
                },
            ),
            // Some more calls a case, which in the interpreter are worth as much as a candidate.
            observe: rung >= self.ladder.top() && self.device != Device::Cpu,
        }
    }

    fn screening(&self, warmup: u32, repeat: u32) -> Timing {
        let mut timing = self.timing(warmup, repeat);
        if self.ladder.top() > 0 && self.device != Device::Cpu {
            timing.enough_us = SCREENING_US;
        }
        timing
    }

    fn rounds(&self, most: u32, rung: usize) -> Rounds {
        let seconds = if rung == self.ladder.top() { TOP_SECONDS } else { MIDDLE_SECONDS };
        // Who is clearly no faster is done with after these; the last word on a speed is the
        // verification's, which makes more of them.
        let least = most.min(if rung == self.ladder.top() { 3 } else { 2 });
        let decisive = if self.thorough { most } else { least };
        Rounds { most, least, decisive, seconds, gamma: self.gamma, paired: true }
    }

    fn round(&self, calls: u32) -> Timing {
        Timing {
            warmup: ROUND_LEAD,
            repeat: calls,
            enough_us: ENOUGH_A_ROUND_US,
            flush_bytes: self.flush_bytes,
        }
    }

    pub(super) fn verification(&self, allow_regression: bool) -> VerifyPlan {
        let cpu = self.device == Device::Cpu;
        VerifyPlan {
            seeds: vec![0; if cpu { 2 } else { 3 }],
            timing: if cpu {
                Timing { warmup: 0, repeat: 1, enough_us: ENOUGH_US, flush_bytes: 0 }
            } else {
                self.round(ROUND_CALLS)
            },
            rounds: if cpu { 9 } else { 25 },
            least_rounds: if cpu { 5 } else { 9 },
            // So few rounds are all made on the cpu, where little is certain.
            decisive_rounds: 9,
            case_seconds: if cpu { 6.0 } else { 5.0 },
            // On the cpu that would compare compiled code with an interpreter.
            with_pytorch: !cpu,
            gamma: self.gamma,
            allow_regression,
            incumbent: None,
            proof: Some(self.proof()),
        }
    }

    /// What is proved of a kernel before its last word on speed.
    pub(super) fn proof(&self) -> ProofPlan {
        match self.device {
            // A call in the interpreter takes from milliseconds to seconds.
            Device::Cpu => ProofPlan { case_seconds: 5.0, late_calls: 32, late_seconds: 2.0 },
            Device::Cuda { .. } => {
                ProofPlan { case_seconds: 8.0, late_calls: 128, late_seconds: 3.0 }
            }
        }
    }

    /// Two seeds at most on the cpu, where a call can take a second; a verification there compares
    /// on new inputs in every round.
    fn seeds(&self, asked: u32) -> Vec<u64> {
        let count = if self.device == Device::Cpu { asked.min(2) } else { asked };
        (0..u64::from(count)).map(|k| input_seed(self.seed, k)).collect()
    }

    /// The interpreter takes up to seconds a call and has no cache to warm.
    fn timing(&self, warmup: u32, repeat: u32) -> Timing {
        match self.device {
            Device::Cpu => Timing {
                warmup: 0,
                repeat: repeat.div_ceil(20).min(2),
                enough_us: ENOUGH_US,
                flush_bytes: 0,
            },
            Device::Cuda { .. } => {
                Timing { warmup, repeat, enough_us: ENOUGH_US, flush_bytes: self.flush_bytes }
            }
        }
    }
}

/// The `k`-th seed of a run's inputs, spread by a multiplication (Knuth's) so that neighbouring
/// runs share none; 32 bits, which every generator takes.
fn input_seed(run_seed: u64, k: u64) -> u64 {
    run_seed.wrapping_mul(1_000).wrapping_add(k).wrapping_mul(2_654_435_761) & 0xffff_ffff
}
