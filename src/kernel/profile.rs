//! A profile: what a GPU's hardware counters said about the kernels of one call.
//!
//! Everything but a kernel's name and duration may be missing: counters differ between GPUs, and
//! names between versions of the profiler. Percentages are of the hardware's peak, 0 to 100.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What came of profiling a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "profiled", rename_all = "snake_case")]
pub enum Profiling {
    Done {
        profile: Box<Profile>,
    },
    /// One sentence: why there is none, and what to do about it.
    Missing {
        reason: String,
    },
}

impl Profiling {
    pub fn missing(reason: impl Into<String>) -> Self {
        Self::Missing { reason: reason.into() }
    }

    pub fn profile(&self) -> Option<&Profile> {
        if let Self::Done { profile } = self { Some(profile) } else { None }
    }

    pub fn reason(&self) -> Option<&str> {
        if let Self::Missing { reason } = self { Some(reason) } else { None }
    }
}

/// The kernels of one call of an entry, in the order in which they were launched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Name of the case that was called.
    pub case: String,
    pub kernels: Vec<KernelProfile>,
    /// The least that any kernel must read and write for this case, bytes.
    pub least_bytes: Option<u64>,
    /// Some of the call's kernels are not in here: there were too many, or the profiler's output
    /// broke off.
    pub incomplete: bool,
}

impl Profile {
    /// Time of all kernels, microseconds; gaps between them are not in it.
    pub fn duration_us(&self) -> f64 {
        self.kernels.iter().map(|kernel| kernel.duration_us).sum()
    }

    /// The least time that the call can have taken by the kernels' durations, microseconds: those of
    /// one stream run one after the other, and those of different streams perhaps beside each other.
    /// Kernels of which the stream is not known count as such.
    pub fn least_call_us(&self) -> f64 {
        let mut streams: BTreeMap<&str, f64> = BTreeMap::new();
        let mut longest: f64 = 0.0;
        for kernel in &self.kernels {
            match &kernel.stream {
                Some(stream) => *streams.entry(stream).or_default() += kernel.duration_us,
                None => longest = longest.max(kernel.duration_us),
            }
        }
        streams.into_values().fold(longest, f64::max)
    }

    /// Bytes between DRAM and L2, read and written; `None` unless every kernel has them.
    pub fn dram_bytes(&self) -> Option<f64> {
        let bytes = self.kernels.iter().map(|kernel| kernel.traffic.dram_bytes());
        bytes.sum::<Option<f64>>().filter(|_| !self.kernels.is_empty())
    }

    /// DRAM bytes over the least bytes.
    pub fn amplification(&self) -> Option<f64> {
        let least = self.least_bytes.filter(|least| *least > 0)?;
        Some(self.dram_bytes()? / least as f64)
    }

    /// The mean of a figure, weighted by duration, over the kernels that have it.
    pub fn mean(&self, figure: impl Fn(&KernelProfile) -> Option<f64>) -> Option<f64> {
        let (mut sum, mut weight) = (0.0, 0.0);
        for kernel in &self.kernels {
            if let Some(value) = figure(kernel) {
                sum += value * kernel.duration_us;
                weight += kernel.duration_us;
            }
        }
        (weight > 0.0).then(|| sum / weight)
    }

    /// The kernel that took longest.
    pub fn longest(&self) -> Option<&KernelProfile> {
        self.kernels.iter().max_by(|a, b| a.duration_us.total_cmp(&b.duration_us))
    }
}

/// One launch of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelProfile {
    pub name: String,
    /// The CUDA stream that it ran on, as the profiler names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    pub duration_us: f64,
    pub launch: Launch,
    pub throughput: Throughput,
    pub traffic: Traffic,
    pub occupancy: Occupancy,
    pub shared: SharedMemory,
    pub pipes: Pipes,
    pub issue: Issue,
    pub atomics: Atomics,
    /// Share of the warps' time spent in each state, percent, by the profiler's name of the state
    /// (`long_scoreboard`); `selected` is the state in which an instruction is issued.
    pub stalls: BTreeMap<String, f64>,
}

/// What was launched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Launch {
    /// Programs (thread blocks) of the grid.
    pub programs: Option<f64>,
    pub threads_per_program: Option<f64>,
    pub registers_per_thread: Option<f64>,
    /// Shared memory of a program, bytes, with what the driver reserves.
    pub shared_bytes: Option<f64>,
    /// Programs over those that the device holds at a time.
    pub waves: Option<f64>,
    pub multiprocessors: Option<f64>,
}

impl Launch {
    pub fn warps_per_program(&self) -> Option<f64> {
        self.threads_per_program.map(|threads| (threads / 32.0).ceil())
    }
}

/// How close the units came to their peaks, percent of what the elapsed time allows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Throughput {
    /// The busiest of the multiprocessors' pipes and issue slots.
    pub sm: Option<f64>,
    /// The busiest part of the memory system, caches included.
    pub memory: Option<f64>,
    pub dram: Option<f64>,
    pub l2: Option<f64>,
    pub l1: Option<f64>,
}

/// What moved through the memory system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    pub dram_read_bytes: Option<f64>,
    pub dram_write_bytes: Option<f64>,
    /// Hit rates, percent.
    pub l1_hit: Option<f64>,
    pub l2_hit: Option<f64>,
    /// Sectors of 32 bytes that global loads and stores asked the L1 for, and the warps' requests
    /// that did.
    pub load_sectors: Option<f64>,
    pub load_requests: Option<f64>,
    pub store_sectors: Option<f64>,
    pub store_requests: Option<f64>,
    /// Bytes of a sector that the threads wanted, of 32.
    pub load_bytes_per_sector: Option<f64>,
    pub store_bytes_per_sector: Option<f64>,
    /// Sectors that global accesses touch, and those that perfectly arranged ones would.
    pub global_sectors: Option<f64>,
    pub ideal_global_sectors: Option<f64>,
    /// Sectors of local memory: registers that were spilled, and arrays indexed at run time.
    pub local_load_sectors: Option<f64>,
    pub local_store_sectors: Option<f64>,
}

impl Traffic {
    /// Read and written; `None` unless both are known.
    pub fn dram_bytes(&self) -> Option<f64> {
        Some(self.dram_read_bytes? + self.dram_write_bytes?)
    }

    /// Bytes of local memory that were loaded and stored.
    pub fn local_bytes(&self) -> Option<f64> {
        Some(32.0 * (self.local_load_sectors? + self.local_store_sectors?))
    }
}

/// What bounds the warps that a multiprocessor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OccupancyLimit {
    SharedMemory,
    Registers,
    Warps,
    Programs,
    Barriers,
}

/// Resident warps over those that the hardware has room for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Occupancy {
    /// Percent.
    pub achieved: Option<f64>,
    /// Percent, by the resources of a program alone.
    pub theoretical: Option<f64>,
    /// The resource that allows fewest programs.
    pub limit: Option<OccupancyLimit>,
    /// Programs a multiprocessor holds under that limit, and under the next one.
    pub programs: Option<f64>,
    pub programs_without_limit: Option<f64>,
}

/// Shared memory accesses of loads and stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedMemory {
    /// Cycles of the data stage, conflicts included.
    pub wavefronts: Option<f64>,
    /// Of these, what bank conflicts added.
    pub conflicts: Option<f64>,
    /// Use of the data stage by shared memory, percent.
    pub utilization: Option<f64>,
}

/// Use of the arithmetic pipes, percent of peak.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pipes {
    pub tensor: Option<f64>,
    pub fma: Option<f64>,
    pub alu: Option<f64>,
    /// Exponentials, square roots, conversions.
    pub xu: Option<f64>,
    pub fp64: Option<f64>,
    /// Fused multiply-adds in fp32, counted by thread.
    pub ffma: Option<f64>,
}

/// How well the schedulers were fed; warps and instructions per scheduler and cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Issue {
    pub active_warps: Option<f64>,
    pub eligible_warps: Option<f64>,
    /// Cycles in which an instruction was issued, percent.
    pub issued: Option<f64>,
}

/// Atomic operations on global memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Atomics {
    /// Warps' requests, with and without a result.
    pub requests: Option<f64>,
    /// Use of the L2's atomic units: mean over the slices, and the busiest slice; percent.
    pub mean_use: Option<f64>,
    pub busiest_use: Option<f64>,
}
