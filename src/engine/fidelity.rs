//! From a rung of the ladder to what the evaluation plane does.

use crate::{
    evaluate::{Device, Fidelity, Timing, VerifyPlan},
    kernel::Case,
    search::Ladder,
};

/// Written between timed calls: more than the L2 cache of any GPU so far (H200: 60 MB, B200:
/// 126 MB).
const FLUSH_BYTES: u64 = 256 << 20;

/// A burst of calls ends after this long, so that a baseline of 80 ms a call does not spend the
/// budget of the whole run on itself, microseconds.
const ENOUGH_US: u64 = 500_000;

/// Timed calls of one round of a verification, on a GPU.
const ROUND_REPEAT: u32 = 5;

/// How rungs translate on one device.
#[derive(Clone, Debug)]
pub(super) struct FidelityRule {
    pub(super) ladder: Ladder,
    pub(super) cases: Vec<Case>,
    pub(super) device: Device,
    pub(super) seed: u64,
}

impl FidelityRule {
    pub(super) fn of_rung(&self, rung: usize) -> Fidelity {
        let level = &self.ladder.rungs()[rung.min(self.ladder.top())];
        Fidelity {
            cases: self.ladder.cases_for(rung, &self.cases),
            seeds: self.seeds(level.seeds),
            timing: self.timing(level.timing.warmup, level.timing.repeat),
            start_in_turn: rung > 0,
            compare_timed: rung > 0,
        }
    }

    pub(super) fn verification(&self, allow_regression: bool, gamma: f64) -> VerifyPlan {
        let cpu = self.device == Device::Cpu;
        VerifyPlan {
            seeds: vec![0; if cpu { 2 } else { 3 }],
            timing: if cpu {
                Timing { warmup: 0, repeat: 1, enough_us: ENOUGH_US, flush_bytes: 0 }
            } else {
                Timing {
                    warmup: 1,
                    repeat: ROUND_REPEAT,
                    enough_us: ENOUGH_US,
                    flush_bytes: FLUSH_BYTES,
                }
            },
            rounds: if cpu { 9 } else { 11 },
            least_rounds: if cpu { 5 } else { 7 },
            case_seconds: if cpu { 6.0 } else { 5.0 },
            // On the cpu that would compare compiled code with an interpreter.
            with_pytorch: !cpu,
            gamma,
            allow_regression,
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
                Timing { warmup, repeat, enough_us: ENOUGH_US, flush_bytes: FLUSH_BYTES }
            }
        }
    }
}

/// The `k`-th seed of a run's inputs, spread by a multiplication (Knuth's) so that neighbouring
/// runs share none; 32 bits, which every generator takes.
fn input_seed(run_seed: u64, k: u64) -> u64 {
    run_seed.wrapping_mul(1_000).wrapping_add(k).wrapping_mul(2_654_435_761) & 0xffff_ffff
}
