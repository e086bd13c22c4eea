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

/// A child's answer to `load`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Loaded {
    #[serde(default)]
    pub(crate) kernels: Vec<String>,
}

/// A child's answer to `compile`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Compiled {
    #[serde(default)]
    pub(crate) kernels: Vec<BuildFacts>,
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
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

/// A child's answer to `time`, and with fewer fields the referee's.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Timed {
    pub(crate) device_us: Vec<f64>,
    #[serde(default)]
    pub(crate) host_us: Option<f64>,
    #[serde(default)]
    pub(crate) backward_us: Option<Vec<f64>>,
    #[serde(default)]
    pub(crate) returned: Vec<Returned>,
    #[serde(default)]
    pub(crate) gradients: Option<Vec<Option<Returned>>>,
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

/// A wrong answer and whether the contract lets it pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    pub name: String,
    pub passed: bool,
    #[serde(default)]
    pub advice: String,
}

/// The referee's answer to `audit`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Audited {
    pub(crate) mutants: Vec<Mutant>,
}
