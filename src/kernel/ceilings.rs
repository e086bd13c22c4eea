//! Speed of light: what a device reaches at best, what a case asks of it, and how far from the
//! limit a measurement lies.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// A number format in which a device multiplies matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    Fp64,
    /// On the units for single floats, not on tensor cores.
    Fp32,
    Tf32,
    Bf16,
    Fp16,
    Fp8,
    Int8,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Int8 => "int8",
        })
    }
}

/// How ceilings were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CeilingMethod {
    /// From the device's clocks and widths only.
    #[default]
    Theoretical,
    /// Measured in a few seconds, at the first use of a device.
    Short,
    /// Measured by `kernelbrain calibrate`.
    Full,
}

/// What a device reaches at best. Bandwidths in GB/s (10⁹ bytes a second), products in 10¹²
/// operations a second (a multiplication and an addition are two).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ceilings {
    pub method: CeilingMethod,
    /// Memory clock times bus width: no byte can come faster. `None` where the driver is silent.
    pub theoretical_gbps: Option<f64>,
    /// A kernel that only reads.
    pub read_gbps: Option<f64>,
    /// A copy, bytes read and bytes written counted.
    pub copy_gbps: Option<f64>,
    pub l2_bytes: Option<u64>,
    /// Reads that hit the L2 cache.
    pub l2_gbps: Option<f64>,
    /// Device time of a kernel that does nothing, microseconds.
    pub launch_floor_us: Option<f64>,
    pub products: BTreeMap<Precision, f64>,
    /// What was not measured, and why.
    pub skipped: BTreeMap<String, String>,
}

/// What the reference of a case does, and the least traffic that it needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Operations of products and convolutions, by the format of their operands.
    #[serde(default)]
    pub flops: BTreeMap<Precision, f64>,
    /// Operations of everything else, one an element.
    #[serde(default)]
    pub elementwise: f64,
    /// Bytes of the inputs that the reference reads.
    pub bytes_in: u64,
    /// Bytes of its outputs, and of the inputs that it overwrites.
    pub bytes_out: u64,
    /// Which of `flops` and `bytes` the contract states itself.
    #[serde(default)]
    pub declared: Vec<String>,
}

impl Work {
    /// All operations together.
    pub fn total_flops(&self) -> f64 {
        self.flops.values().sum::<f64>() + self.elementwise
    }

    /// The least bytes that go to and come from memory.
    pub fn bytes(&self) -> u64 {
        self.bytes_in.saturating_add(self.bytes_out)
    }
}

/// Which ceiling a bound comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    Compute,
    Traffic,
    Launch,
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compute => "compute",
            Self::Traffic => "traffic",
            Self::Launch => "launch",
        })
    }
}

/// The speed-of-light bound of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Microseconds.
    pub us: f64,
    pub limiter: Limiter,
    /// Operations that it rests on.
    pub flops: f64,
    /// Bytes that it rests on.
    pub bytes: u64,
}

impl Bound {
    /// Measured time over the bound: 1 is the limit. `None` without a measurement.
    pub fn headroom(&self, measured_us: Option<f64>) -> Option<f64> {
        measured_us.map(|us| us / self.us).filter(|headroom| headroom.is_finite())
    }
}

/// Headrooms of what was measured on a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Headroom {
    pub baseline: Option<f64>,
    pub best: Option<f64>,
    pub eager: Option<f64>,
    pub compile: Option<f64>,
}
