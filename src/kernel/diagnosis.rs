//! A diagnosis says what holds a candidate back.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What bounds a kernel, by its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BottleneckClass {
    Memory,
    Compute,
    Latency,
    Launch,
    NearLimit,
}

impl fmt::Display for BottleneckClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory-bound",
            Self::Compute => "compute-bound",
            Self::Latency => "latency-bound",
            Self::Launch => "launch-bound",
            Self::NearLimit => "near the limit",
        })
    }
}

/// A kind of bottleneck that a profile can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Threads of a warp touch many sectors and use a part of each.
    UncoalescedAccess,
    /// Threads of a warp want different words of the same bank of shared memory.
    BankConflicts,
    /// Values that did not fit the registers went through local memory.
    RegisterSpills,
    /// The grid leaves multiprocessors idle.
    TooFewPrograms,
    /// A program's shared memory leaves no room for a second one.
    OccupancySharedMemory,
    /// A program's registers leave no room for a second one.
    OccupancyRegisters,
    /// More bytes move than the operation needs: passes that could be fused, data read again.
    RedundantTraffic,
    /// Products are computed by the fp32 units while the tensor cores idle.
    Fp32Units,
    /// Many short kernels: launching takes longer than computing.
    LaunchOverhead,
    /// Each instruction waits for the one before it.
    DependencyChain,
    /// Atomic operations queue at a few addresses.
    AtomicContention,
    /// DRAM is about as busy as it can be, with little more than the bytes that are needed.
    MemoryPeak,
    /// An arithmetic pipe is about as busy as it can be.
    ComputePeak,
}

/// A number that a finding rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// `bytes_per_sector`, `grid`, …
    pub name: String,
    pub value: f64,
    /// `%`, `B`, `µs`, or empty for a count or a ratio.
    #[serde(default)]
    pub unit: String,
}

/// One finding for programs; its sentence is in [`Diagnosis::findings`] at the same place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub bottleneck: Bottleneck,
    /// The kernel on which it shows most; `None` when it concerns the call as a whole.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Estimated share of the call's time that is lost to it, 0 to 1; findings are in its order.
    pub severity: f64,
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// What holds a candidate back, with the numbers it rests on and what to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    pub class: BottleneckClass,
    /// One sentence each, with its number.
    pub findings: Vec<String>,
    /// Recipe verbs (`warps 8`, `stages fewer`, `tile larger`: a value or a direction) or expert
    /// tasks (`task memory-traffic`) that address the findings, the best first.
    pub suggestions: Vec<String>,
    /// The findings for programs, in the same order.
    #[serde(default)]
    pub details: Vec<Finding>,
    /// DRAM bytes over the least bytes of the case.
    #[serde(default)]
    pub amplification: Option<f64>,
}
