//! What is recorded of a run besides its events: enough to go on with it and to report it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    generate::task::Experience,
    kernel::{Bound, Ceilings, Contract},
    report::AuditInfo,
    search,
};

/// Recorded when the run is created and never changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunPlan {
    /// What decides.
    pub search: search::Plan,
    /// Seed of the inputs and of the generation.
    pub seed: u64,
    pub contract: Contract,
    pub audit: AuditInfo,
    /// Known before the search began, for the report.
    pub warnings: Vec<String>,
    /// The least speedup that counts.
    pub gamma: f64,
    pub allow_regression: bool,
    /// The command line that repeats the run.
    pub command: String,
    /// The folder in which the run was begun; patches name the source from there.
    #[serde(default)]
    pub folder: PathBuf,
    /// What the device reached at best when the run was begun.
    #[serde(default)]
    pub ceilings: Option<Ceilings>,
    /// Speed-of-light bounds of the cases, in the contract's order.
    #[serde(default)]
    pub bounds: Vec<Option<Bound>>,
    /// The language model that was to be asked, as a person named it.
    #[serde(default)]
    pub model: Option<String>,
    /// What other runs had shown when this one was begun: a run that is resumed tells its model the
    /// same.
    #[serde(default)]
    pub experience: Experience,
}
