//! The shapes of the protocol's answers. What a child says is read as strictly as what a
//! referee says, and believed less.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kernel::{BuildFacts, Contract};

/// What the referee says after it has opened a contract.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Opened {
    pub(crate) contract: Contract,
    pub(crate) device_name: String,
    /// Bytes of the device's L2 cache, where it has one and tells.
    #[serde(default)]
    pub(crate) l2_bytes: Option<u64>,
    /// What torch says of the device, for candidates that ask while they are compiled without it.
    #[serde(default)]
    pub(crate) properties: Option<Value>,
    #[serde(flatten)]
    pub(crate) versions: Versions,
}

/// Versions of what an evaluation rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    pub python: String,
    pub torch: String,
    pub triton: String,
    pub numpy: String,
    #[serde(default)]
    pub driver: Option<String>,
}

/// What a zygote says of itself.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ZygoteHello {
    /// What of the children's sandbox this machine cannot enforce.
    #[serde(default)]
    pub(crate) missing: Vec<String>,
}

/// How many calls are timed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Calls before the first timed one.
    pub warmup: u32,
    /// Timed calls.
    pub repeat: u32,
    /// No further call is timed once they took this long together, microseconds; 3 always are.
    pub enough_us: u64,
    /// Bytes overwritten between calls, so that no call finds its inputs in the cache.
    pub flush_bytes: u64,
}

/// What a candidate's call returned, as the child describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Returned {
    pub(crate) dtype: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) stride: Vec<i64>,
    #[serde(default)]
    pub(crate) device: Option<String>,
    /// The argument it shares memory with.
    #[serde(default)]
    pub(crate) alias: Option<Value>,
}

/// Something that a candidate did to its own process besides answering.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Observed {
    /// Completes a sentence that begins with the candidate: `starts a thread`.
    pub(crate) what: String,
    /// Line of the candidate's source.
    #[serde(default)]
    pub(crate) line: Option<u32>,
}

/// A child's answer to `load`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Loaded {
    #[serde(default)]
    pub(crate) kernels: Vec<String>,
    #[serde(default)]
    pub(crate) observed: Vec<Observed>,
}

/// A child's answer to `compile`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Compiled {
    #[serde(default)]
    pub(crate) kernels: Vec<BuildFacts>,
    /// What tells its program on this case from others; `None` where that is not known.
    #[serde(default)]
    pub(crate) identity: Option<String>,
    /// Why something was not compiled.
    #[serde(default)]
    pub(crate) skipped: Option<String>,
}

/// A child's answer to `run`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Ran {
    pub(crate) returned: Vec<Returned>,
    #[serde(default)]
    pub(crate) gradients: Option<Vec<Option<Returned>>>,
    /// Names of the Triton kernels that the call launched.
    #[serde(default)]
    pub(crate) launched: Vec<String>,
    /// Those of its backward pass.
    #[serde(default)]
    pub(crate) launched_back: Vec<String>,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    #[serde(default)]
    pub(crate) observed: Vec<Observed>,
}

/// A burst of timed calls, as a child is asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct BurstPlan {
    /// Calls on the first set before anything is timed.
    pub(crate) warmup: u32,
    /// Timed calls.
    pub(crate) repeat: u32,
    /// No further call is timed once they took this long together, microseconds; 3 always are.
    pub(crate) enough_us: u64,
    /// Bytes overwritten before each call.
    pub(crate) flush_bytes: u64,
    /// How long the device waits before each call for the host to queue it, microseconds.
    pub(crate) wait_us: f64,
    /// Calls whose answers are kept until it is known which one is wanted.
    pub(crate) keep: u32,
}

/// The referee's answer to `sets`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Sets {
    pub(crate) sets: Vec<Value>,
}

/// A child's answer to `ready`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Ready {
    #[serde(default)]
    pub(crate) host_us: Option<f64>,
}

/// A call of a burst whose answer a child has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct KeptCall {
    pub(crate) call: usize,
    pub(crate) set: usize,
}

/// A child's answer to `time`, and with fewer fields the referee's.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Timed {
    pub(crate) device_us: Vec<f64>,
    #[serde(default)]
    pub(crate) host_us: Option<f64>,
    /// For how long the device worked on after each call was done by its own stream.
    #[serde(default)]
    pub(crate) tail_us: Vec<f64>,
    #[serde(default)]
    pub(crate) kept: Vec<KeptCall>,
    #[serde(default)]
    pub(crate) observed: Vec<Observed>,
}

/// A child's answer to `backward`; nothing where no output has a gradient.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TimedBackward {
    pub(crate) device_us: Option<Vec<f64>>,
}

/// A child's answer to `deliver`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Delivered {
    pub(crate) returned: Vec<Returned>,
    #[serde(default)]
    pub(crate) gradients: Option<Vec<Option<Returned>>>,
}

/// The referee's answer to `probes`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Probes {
    pub(crate) probes: Vec<Probe>,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

/// Inputs of a case, changed in one respect.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Probe {
    pub(crate) name: String,
    /// Says when an answer is wrong: `with a NaN in argument 0`.
    pub(crate) about: String,
}

/// The referee's answer to `sizes`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Sizes {
    pub(crate) cases: Vec<Size>,
}

/// A case that the contract does not list.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Size {
    /// Number for `inputs` and `compare`.
    pub(crate) case: usize,
    pub(crate) name: String,
    /// Whether refusing it is a fault too: the form of the contract says that every size is legal.
    pub(crate) binding: bool,
}

/// The referee's word on one call.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Compared {
    pub(crate) pass: bool,
    /// Largest deviation in units of the tolerance.
    #[serde(default)]
    pub(crate) error: Option<f64>,
    #[serde(default)]
    pub(crate) gate: Option<crate::kernel::Gate>,
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// The referee's answer to `checksum`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Checksum {
    pub(crate) checksum: String,
}

/// The referee's answer to `memory`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct FreeMemory {
    pub(crate) free_bytes: Option<u64>,
}

/// A wrong answer and whether the contract lets it pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    pub name: String,
    pub passed: bool,
    #[serde(default)]
    pub advice: String,
}

/// The referee's answer to `dependence`: of the sectors drawn from a case's inputs, those whose
/// values its answer depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Dependence {
    pub(crate) sampled: u32,
    pub(crate) needed: u32,
    /// Of all inputs.
    pub(crate) bytes: u64,
}

/// The referee's answer to `audit`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Audited {
    pub(crate) mutants: Vec<Mutant>,
}
