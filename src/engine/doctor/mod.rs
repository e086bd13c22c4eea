//! What is there, what is missing, and what to do about each.
//!
//! [`examine`] takes well under a second: versions come from package metadata, nothing heavy is
//! imported. [`try_out`] imports and tries.

mod deep;
mod host;
mod python;
mod render;
mod requirement;

pub use deep::try_out;
pub use render::render;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::gpu::{self, Inventory, NoGpu};

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    /// kernelbrain works without it, with less.
    Warn,
    /// kernelbrain does not work without it.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub status: Status,
    /// What was found, in a few words.
    pub found: String,
    /// What to do; `None` when all is well.
    pub advice: Option<String>,
}

impl Check {
    fn ok(name: &str, found: impl Into<String>) -> Self {
        Self { name: name.into(), status: Status::Ok, found: found.into(), advice: None }
    }

    fn warn(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        let (found, advice) = (found.into(), Some(advice.into()));
        Self { name: name.into(), status: Status::Warn, found, advice }
    }

    fn missing(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { status: Status::Missing, ..Self::warn(name, found, advice) }
    }
}

/// The result of an examination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// In the order in which they matter.
    pub checks: Vec<Check>,
}

impl Diagnosis {
    /// Whether kernels can be optimised here at all, on whatever device there is.
    pub fn can_run(&self) -> bool {
        self.checks.iter().all(|check| check.status != Status::Missing)
    }
}

/// What this kernel enforces on a candidate's process, as the evaluation plane found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxAbilities {
    /// Landlock's ABI; 0 without Landlock.
    pub landlock: u32,
    /// What is not enforced, in words; empty when everything is.
    pub missing: Vec<String>,
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Host {
    /// The interpreter to use.
    pub python: PathBuf,
    /// Where the database lies or would lie.
    pub database: PathBuf,
    pub sandbox: SandboxAbilities,
    /// `PATH` and `CC`, for the C compiler.
    pub path: Option<OsString>,
    pub cc: Option<OsString>,
    /// `CUDA_VISIBLE_DEVICES`.
    pub visible: Option<String>,
    pub gpus: Result<Inventory, NoGpu>,
    pub profiling: gpu::ProfilingPermission,
    /// Nsight Compute's command line.
    pub ncu: Option<PathBuf>,
}

impl Host {
    /// This machine, as it presents itself.
    pub fn here(python: &Path, database: &Path, sandbox: SandboxAbilities) -> Self {
        Self {
            python: python.to_owned(),
            database: database.to_owned(),
            sandbox,
            path: std::env::var_os("PATH"),
            cc: std::env::var_os("CC").filter(|cc| !cc.is_empty()),
            visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
            gpus: gpu::inventory(),
            profiling: gpu::profiling_permission(),
            ncu: gpu::find_ncu(),
        }
    }
}

/// Looks at everything, without importing or changing anything.
pub async fn examine(host: &Host) -> Diagnosis {
    let mut checks = python::checks(&host.python, host.gpus.is_ok()).await;
    checks.push(host::compiler(host.cc.as_deref(), host.path.as_deref(), host.gpus.is_ok()));
    checks.push(host::gpus(&host.gpus, host.visible.as_deref()));
    if host.gpus.is_ok() {
        checks.push(host::profiler(host.ncu.as_deref(), host.profiling));
    }
    checks.push(host::sandbox(&host.sandbox));
    checks.push(host::database(&host.database));
    checks.push(host::free_space(&host.database));
    Diagnosis { checks }
}

#[cfg(test)]
mod tests;
