//! A contract says what the target must compute.

use serde::{Deserialize, Serialize};

use super::Case;

/// The conventions a contract file may follow; told apart by what the file defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractKind {
    /// `CASES` (or `SHAPES` and `DTYPES`), `make_inputs`, `reference`.
    Native,
    /// `Model`, `get_inputs`, `get_init_inputs`.
    KernelBench,
    /// `task.yml` with `reference.py` (`ref_kernel`, `generate_input`, `check_implementation`).
    GpuMode,
}

/// A contract as the referee understood it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contract {
    pub kind: ContractKind,
    /// Never empty; the first is the main case.
    pub cases: Vec<Case>,
    /// Names of the callables that a candidate may define, the preferred one first.
    pub entries: Vec<String>,
    /// Positions of the inputs that the operation is defined to overwrite.
    #[serde(default)]
    pub mutates: Vec<usize>,
    /// Positions of the inputs whose gradients are compared too.
    #[serde(default)]
    pub grads: Vec<usize>,
    /// What a reader of the report must know: float32 in place of bfloat16, defaults assumed, …
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Contract {
    /// The case called `name`.
    pub fn case(&self, name: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.name == name)
    }
}
