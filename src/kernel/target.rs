//! A target is what is to be made faster.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Arch;

/// The callable that a contract calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Dotted module for an in-tree target; `None` when the source file is a module of its own.
    pub module: Option<String>,
    /// Name of the callable; `None` lets the contract's preferred names decide.
    pub function: Option<String>,
}

/// The package that an in-tree target belongs to. Nothing in it is ever written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Root of the repository checkout.
    pub repository: PathBuf,
    /// Folder that goes on `sys.path`, so that `module` can be imported.
    pub import_root: PathBuf,
    /// Dotted name under which the candidate is imported.
    pub module: String,
}

/// A source file, the symbols in it that may change, the entry that is called, its contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Name in reports: the `name` of `kernelbrain.toml`, else the name of the source's folder or file.
    pub name: String,
    /// Path of the source file.
    pub source: PathBuf,
    /// Text of the source file as it stood.
    pub text: Arc<str>,
    pub entry: Entry,
    /// Path of the contract (`test.py`, or the folder or `task.yml` of a gpu-mode task).
    pub contract: PathBuf,
    /// Top-level symbols that may change; `None` for all.
    pub editable: Option<Vec<String>>,
    /// Present for an in-tree target.
    pub package: Option<Package>,
    /// The repository's own rules for kernels, in words.
    pub rules: Vec<String>,
    /// The repository's own test command, which must pass on the winner.
    pub tests: Option<Vec<String>>,
    /// Further architectures that the winner must compile for.
    #[serde(default)]
    pub archs: Vec<Arch>,
}
