//! What is known about a target besides its text.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kernel::{Case, Contract};

/// Where candidates run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// Triton's interpreter.
    Cpu,
    Cuda,
}

/// An argument of the entry on one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// `dtype` is torch's name without `torch.`; shape and stride in elements.
    Tensor {
        dtype: String,
        shape: Vec<i64>,
        stride: Vec<i64>,
    },
    Integer(i64),
    Other,
}

/// One case of the contract, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFacts {
    pub case: Case,
    /// Positional arguments of the entry; empty when nobody has looked yet.
    pub arguments: Vec<Argument>,
}

/// What verbs may rely on. A verb that needs a fact which is not here declines.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    pub device: DeviceKind,
    /// Every case that a candidate must get right; empty when the contract is not known.
    pub cases: Vec<CaseFacts>,
    /// Top-level symbols that may change; `None` for all.
    pub editable: Option<Vec<String>>,
    /// Name of the callable that the contract calls, where it is known.
    pub entry: Option<String>,
    /// Names of the kernels that the cases launch, once that was seen; empty before.
    pub launched: BTreeSet<String>,
}

impl Context {
    /// Nothing is known but the device.
    pub fn new(device: DeviceKind) -> Self {
        Self { device, cases: Vec::new(), editable: None, entry: None, launched: BTreeSet::new() }
    }

    /// The cases of `contract`, without their arguments.
    #[must_use]
    pub fn with_contract(mut self, contract: &Contract) -> Self {
        let facts = |case: &Case| CaseFacts { case: case.clone(), arguments: Vec::new() };
        self.cases = contract.cases.iter().map(facts).collect();
        self
    }

    #[must_use]
    pub fn with_editable(mut self, editable: Option<Vec<String>>) -> Self {
        self.editable = editable;
        self
    }

    /// The values of the integer parameter `name`, one a case; `None` unless every case has it.
    pub fn integers(&self, name: &str) -> Option<Vec<i64>> {
        if self.cases.is_empty() {
            return None;
        }
        let value = |facts: &CaseFacts| facts.case.params.get(name).and_then(Value::as_i64);
        self.cases.iter().map(value).collect()
    }

    /// The `dtype` parameter of the cases, those that have one.
    pub fn dtypes(&self) -> Vec<&str> {
        let params = self.cases.iter().map(|facts| &facts.case.params);
        params.filter_map(|params| params.get("dtype").and_then(Value::as_str)).collect()
    }
}

/// Bytes of an element of torch's `dtype`; `None` for one that is not known.
pub fn element_bytes(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "bool" | "int8" | "uint8" | "float8_e4m3fn" | "float8_e5m2" => 1,
        "int16" | "uint16" | "float16" | "bfloat16" | "half" => 2,
        "int32" | "uint32" | "float32" | "float" => 4,
        "int64" | "uint64" | "float64" | "double" => 8,
        _ => return None,
    })
}
