//! Starting an evaluation plane with sizes that fit the machine.

use std::{path::PathBuf, time::Duration};

use super::error::EngineError;
use crate::{
    evaluate::{Device, Interpreter, Plane, PlaneConfig, Quota, TimeLimits},
    kernel::Target,
    store::{Environment, SqliteStore},
};

/// What a person may choose about a plane.
#[derive(Clone, Debug)]
pub struct PlaneOptions {
    pub device: Device,
    pub interpreter: Interpreter,
    /// Go on where the kernel cannot confine candidates completely.
    pub best_effort: bool,
    /// Candidates that are imported and compiled at the same time; `None` to fit the machine.
    pub children: Option<usize>,
    /// Longest that one step of a candidate may take.
    pub candidate_timeout: Duration,
    /// Longest that one step of the referee may take.
    pub reference_timeout: Duration,
}

/// Most children that pay: on an H200 compiling for 14 kept the GPU turn busy.
const MOST_CHILDREN: usize = 14;

/// Processes that a candidate may have: a compiler driver, its passes and a linker, some of each.
const PROCESSES: usize = 48;

/// What a candidate may leave in its scratch folder: binaries of hundreds of configurations fit.
const DISK_BYTES: u64 = 2 << 30;

impl PlaneOptions {
    /// Compiling leaves two cores to the referee and to this process.
    pub fn child_count(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        self.children.unwrap_or_else(|| cores.saturating_sub(2).clamp(2, MOST_CHILDREN))
    }

    /// Starts a plane for `target`.
    pub async fn start(&self, target: Target) -> Result<Plane, EngineError> {
        let launcher = launcher()?;
        let children = self.child_count();
        let config = PlaneConfig {
            target,
            device: self.device,
            interpreter: self.interpreter.clone(),
            launcher,
            best_effort: self.best_effort,
            children,
            limits: TimeLimits {
                import: self.candidate_timeout,
                compile: self.candidate_timeout.max(Duration::from_secs(120)),
                call: self.candidate_timeout,
                referee: self.reference_timeout,
            },
            quota: Quota {
                memory_bytes: memory_quota(children),
                processes: PROCESSES,
                disk_bytes: DISK_BYTES,
            },
        };
        Ok(Plane::start(config).await?)
    }
}

/// This binary, which confines itself and becomes another program.
pub(super) fn launcher() -> Result<PathBuf, EngineError> {
    std::env::current_exe().map_err(|error| {
        EngineError::Environment(format!("cannot find kernelbrain's own binary: {error}"))
    })
}

/// What one child may hold: its share of the memory, between 4 and 32 GiB. Children rarely need
/// it at the same time, and torch alone takes most of one.
fn memory_quota(children: usize) -> u64 {
    const GIB: u64 = 1 << 30;
    let total = total_memory().unwrap_or(16 * GIB);
    (total / (children as u64 + 2) * 2).clamp(4 * GIB, 32 * GIB)
}

fn total_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// What timings on `plane` hold for.
pub(super) fn environment(plane: &Plane) -> Environment {
    let versions = plane.versions();
    Environment {
        kind: if plane.device() == Device::Cpu { "cpu".into() } else { "cuda".into() },
        device: plane.device_name().to_owned(),
        driver: versions.driver.clone(),
        torch: versions.torch.clone(),
        triton: versions.triton.clone(),
        kernelbrain: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Where the database lies: the one that was named, else the user's.
pub fn database_path(named: Option<PathBuf>) -> Result<PathBuf, EngineError> {
    named.or_else(crate::store::default_path).ok_or_else(|| {
        EngineError::Environment("this user has no home folder: name a database with --db".into())
    })
}

/// Does `work` with a database, the one that was named or the user's, and closes it, whatever came of it:
/// a process that ends with a database open may leave what it wrote last in a file beside it, and a copy
/// of the database would lack that.
pub(super) async fn with_database<T>(
    named: Option<PathBuf>,
    work: impl AsyncFnOnce(&SqliteStore) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let database = SqliteStore::open(&database_path(named)?).await?;
    let result = work(&database).await;
    database.close().await;
    result
}
