//! A case is one point of a contract.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Named parameters under which the target is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Unique within its contract.
    pub name: String,
    /// As the contract gives them, for example `{"M": 2048, "K": 4096, "dtype": "bfloat16"}`.
    pub params: Map<String, Value>,
    /// Share in the case-weighted geometric mean; greater than zero.
    pub weight: f64,
}
