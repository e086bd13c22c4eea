//! What a profile can say about a prediction.

use serde::{Deserialize, Serialize};

use crate::kernel::{KernelProfile, Profile};

/// A figure of a profile, over all kernels of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    Duration,
    Kernels,
    DramBytes,
    DramThroughput,
    L2Hit,
    GlobalSectors,
    SmThroughput,
    TensorPipe,
    Occupancy,
    Registers,
    SharedBytes,
    SpillBytes,
    BankConflicts,
    EligibleWarps,
    Programs,
}

impl Metric {
    pub const ALL: [Self; 15] = [
        Self::Duration,
        Self::Kernels,
        Self::DramBytes,
        Self::DramThroughput,
        Self::L2Hit,
        Self::GlobalSectors,
        Self::SmThroughput,
        Self::TensorPipe,
        Self::Occupancy,
        Self::Registers,
        Self::SharedBytes,
        Self::SpillBytes,
        Self::BankConflicts,
        Self::EligibleWarps,
        Self::Programs,
    ];

    /// As it is written in an answer.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Kernels => "kernels",
            Self::DramBytes => "dram_bytes",
            Self::DramThroughput => "dram_throughput",
            Self::L2Hit => "l2_hit",
            Self::GlobalSectors => "global_sectors",
            Self::SmThroughput => "sm_throughput",
            Self::TensorPipe => "tensor_pipe",
            Self::Occupancy => "occupancy",
            Self::Registers => "registers",
            Self::SharedBytes => "shared_bytes",
            Self::SpillBytes => "spill_bytes",
            Self::BankConflicts => "bank_conflicts",
            Self::EligibleWarps => "eligible_warps",
            Self::Programs => "programs",
        }
    }

    /// The metric called `name`, with blanks and hyphens for underscores.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace([' ', '-'], "_");
        match name.as_str() {
            "time" | "latency" | "runtime" | "duration_us" | "latency_us" => Some(Self::Duration),
            "launches" => Some(Self::Kernels),
            "dram_traffic" | "traffic" => Some(Self::DramBytes),
            "spills" => Some(Self::SpillBytes),
            name => Self::ALL.into_iter().find(|metric| metric.name() == name),
        }
    }

    /// Its value: sums over the kernels of a call, or means weighted by duration. `None` where a
    /// kernel lacks it, or kernels are missing from the profile.
    pub fn read(self, profile: &Profile) -> Option<f64> {
        if profile.kernels.is_empty() || profile.incomplete {
            return None;
        }
        let sum = |figure: fn(&KernelProfile) -> Option<f64>| {
            profile.kernels.iter().map(figure).sum::<Option<f64>>()
        };
        let mean = |figure: fn(&KernelProfile) -> Option<f64>| profile.mean(figure);
        let value = match self {
            Self::Duration => Some(profile.duration_us()),
            Self::Kernels => Some(profile.kernels.len() as f64),
            Self::DramBytes => profile.dram_bytes(),
            Self::DramThroughput => mean(|kernel| kernel.throughput.dram),
            Self::L2Hit => mean(|kernel| kernel.traffic.l2_hit),
            Self::GlobalSectors => {
                sum(|kernel| Some(kernel.traffic.load_sectors? + kernel.traffic.store_sectors?))
            }
            Self::SmThroughput => mean(|kernel| kernel.throughput.sm),
            Self::TensorPipe => mean(|kernel| kernel.pipes.tensor),
            Self::Occupancy => mean(|kernel| kernel.occupancy.achieved),
            Self::Registers => mean(|kernel| kernel.launch.registers_per_thread),
            Self::SharedBytes => mean(|kernel| kernel.launch.shared_bytes),
            Self::SpillBytes => sum(|kernel| kernel.traffic.local_bytes()),
            Self::BankConflicts => sum(|kernel| kernel.shared.conflicts),
            Self::EligibleWarps => mean(|kernel| kernel.issue.eligible_warps),
            Self::Programs => sum(|kernel| kernel.launch.programs),
        };
        value.filter(|value| value.is_finite())
    }
}
