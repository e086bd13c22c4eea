//! Nsight Compute on this machine: where it is, whether it may read the counters, how it is called.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::thread::{CapabilitySet, capabilities};

use super::metrics;
use crate::gpu::{ProfilingPermission, find_ncu, profiling_permission};

/// Starting takes 5 to 10 s; the calls take seconds, or minutes for kernels that take seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// Kernels of one call that are looked at; each is run again for every group of counters.
pub(super) const MOST_KERNELS: usize = 32;

/// What a reader is told where the driver keeps the counters to administrators.
pub(super) const NOT_PERMITTED: &str = "the driver lets only administrators read the GPU's \
    counters (ERR_NVGPUCTRPERM): load it with NVreg_RestrictProfilingToAdminUsers=0 (a line \
    `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in /etc/modprobe.d, then a reboot), or \
    run with CAP_SYS_ADMIN (as root, or in a container started with --cap-add SYS_ADMIN)";

const NOT_FOUND: &str = "Nsight Compute was not found: install it (the CUDA toolkit has it) or put \
    `ncu` on PATH";

/// Nsight Compute's command line, `ncu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiler {
    ncu: PathBuf,
    patience: Duration,
}

impl Profiler {
    /// The one of this machine; else one sentence that says what to do.
    pub fn find() -> Result<Self, String> {
        let ncu = find_ncu().ok_or_else(|| NOT_FOUND.to_owned())?;
        if profiling_permission() == ProfilingPermission::AdminOnly && !may_read_counters() {
            return Err(NOT_PERMITTED.to_owned());
        }
        Ok(Self::at(ncu))
    }

    /// The one at `ncu`, whatever this machine says about permissions.
    pub fn at(ncu: impl Into<PathBuf>) -> Self {
        Self { ncu: ncu.into(), patience: PATIENCE }
    }

    /// Gives up when one step takes longer: the start, the calls, or the end.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) fn program(&self) -> &Path {
        &self.ncu
    }

    /// Where its libraries are that a profiled process loads: the folder above `bin`, or the one it
    /// is in; nothing where that is the system's own.
    pub(super) fn installation(&self) -> Option<PathBuf> {
        let ncu = self.ncu.canonicalize().ok()?;
        let folder = ncu.parent()?;
        let root = if folder.ends_with("bin") { folder.parent()? } else { folder };
        (root.components().count() > 2).then(|| root.to_owned())
    }
}

/// Whether this process has one of the capabilities that the driver asks for.
fn may_read_counters() -> bool {
    capabilities(None).is_ok_and(|sets| {
        sets.effective.intersects(CapabilitySet::SYS_ADMIN | CapabilitySet::PERFMON)
    })
}

/// Its arguments up to the program that it starts.
pub(super) fn arguments(log: &Path) -> Vec<OsString> {
    let most_kernels = MOST_KERNELS.to_string();
    let metrics = metrics::requested();
    let options: [(&str, &OsStr); 10] = [
        // Clocks stay as they are: they are everybody's, and results must be those of real runs.
        ("--clock-control", "none".as_ref()),
        // Each kernel finds the caches as empty as in a timed call.
        ("--cache-control", "all".as_ref()),
        ("--replay-mode", "kernel".as_ref()),
        // Only between cudaProfilerStart and cudaProfilerStop.
        ("--profile-from-start", "off".as_ref()),
        ("--target-processes", "application-only".as_ref()),
        ("--launch-count", most_kernels.as_ref()),
        ("--page", "raw".as_ref()),
        ("--print-units", "base".as_ref()),
        ("--metrics", metrics.as_ref()),
        ("--log-file", log.as_ref()),
    ];
    let words = options.into_iter().flat_map(|(name, value)| [name.as_ref(), value]);
    std::iter::once("--csv".as_ref()).chain(words).map(OsStr::to_owned).collect()
}
