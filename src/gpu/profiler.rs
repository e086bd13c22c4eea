//! Nsight Compute: where it is and who may use the GPU's counters.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Who may read the GPU's performance counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfilingPermission {
    Everyone,
    /// Only with `CAP_SYS_ADMIN`, the driver's default.
    AdminOnly,
    /// No NVIDIA driver, or one that does not say.
    Unknown,
}

/// What the loaded driver says.
pub fn profiling_permission() -> ProfilingPermission {
    permission_in(&fs::read_to_string("/proc/driver/nvidia/params").unwrap_or_default())
}

/// Reads `RmProfilingAdminOnly: 1` out of the driver's parameters.
pub(super) fn permission_in(parameters: &str) -> ProfilingPermission {
    let value = parameters
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == "RmProfilingAdminOnly");
    match value.map(|(_, value)| value.trim()) {
        Some("0") => ProfilingPermission::Everyone,
        Some(_) => ProfilingPermission::AdminOnly,
        None => ProfilingPermission::Unknown,
    }
}

/// The Nsight Compute command line: on `PATH`, else where CUDA's installers put it.
pub fn find_ncu() -> Option<PathBuf> {
    let cuda_home = std::env::var_os("CUDA_HOME").map(PathBuf::from);
    let roots = cuda_home.into_iter().chain(["/usr/local".into(), "/opt/nvidia".into()]);
    ncu_in(std::env::var_os("PATH").as_deref(), &roots.collect::<Vec<_>>())
}

/// Looks on `path`, then in each root: `bin/ncu`, `cuda*/bin/ncu`, `nsight-compute/*/ncu`; of
/// several versions the last by name.
pub(super) fn ncu_in(path: Option<&OsStr>, roots: &[PathBuf]) -> Option<PathBuf> {
    let on_path = path.into_iter().flat_map(std::env::split_paths).map(|folder| folder.join("ncu"));
    let installed = roots.iter().flat_map(|root| {
        let cuda = folders(root).into_iter().filter(|folder| {
            folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda"))
        });
        let nsight = folders(&root.join("nsight-compute"));
        std::iter::once(root.join("bin/ncu"))
            .chain(cuda.map(|folder| folder.join("bin/ncu")))
            .chain(nsight.into_iter().map(|folder| folder.join("ncu")))
    });
    on_path.chain(installed).find(|candidate| candidate.is_file())
}

/// The folders in `root`, the last by name first.
fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}
