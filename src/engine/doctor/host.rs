//! What the machine itself offers.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{Check, SandboxAbilities};
use crate::gpu::{Gpu, Inventory, NoGpu, ProfilingPermission, visible};

const GIB: u64 = 1 << 30;

/// Below this, a run may end with a full disk.
const LITTLE_SPACE: u64 = GIB;

/// Triton compiles a launcher in C for every kernel signature; its interpreter does not.
pub(super) fn compiler(cc: Option<&OsStr>, path: Option<&OsStr>, has_gpu: bool) -> Check {
    let name = "C compiler";
    // Triton's own order.
    let names = cc.into_iter().map(PathBuf::from).chain(["gcc".into(), "clang".into()]);
    let advice = "install gcc or clang (Debian, Ubuntu: apt-get install gcc), or set CC";
    match names.into_iter().find_map(|name| on_path(path, &name)) {
        Some(found) => Check::ok(name, found.display().to_string()),
        None if has_gpu => Check::missing(name, "none; Triton needs one for its launchers", advice),
        None => Check::warn(name, "none; not needed on the cpu device", advice),
    }
}

fn on_path(path: Option<&OsStr>, program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let folders = path.into_iter().flat_map(std::env::split_paths);
    folders.map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

pub(super) fn gpus(found: &Result<Inventory, NoGpu>, setting: Option<&str>) -> Check {
    let name = "GPU";
    let inventory = match found {
        Ok(inventory) => inventory,
        Err(NoGpu(reason)) => {
            return Check::warn(
                name,
                format!("none: {reason}"),
                "kernels run in Triton's interpreter (--device cpu), whose times are not a GPU's",
            );
        }
    };
    let shown = visible(&inventory.gpus, setting);
    if shown.is_empty() {
        return Check::warn(
            name,
            "there are GPUs, but CUDA_VISIBLE_DEVICES hides them all",
            "unset CUDA_VISIBLE_DEVICES or name one in it",
        );
    }
    let list: Vec<String> = shown.iter().map(|gpu| describe(gpu)).collect();
    let text = format!("{}; driver {}", list.join(", "), inventory.driver_version);
    let busy: usize = shown.iter().map(|gpu| gpu.processes.len()).sum();
    if busy > 0 {
        let advice = "timings are disturbed by other work; `nvidia-smi` names the processes";
        return Check::warn(name, format!("{text}; in use by {busy} processes"), advice);
    }
    Check::ok(name, text)
}

fn describe(gpu: &Gpu) -> String {
    let capability = gpu
        .compute_capability
        .map_or_else(String::new, |(major, minor)| format!(", sm_{major}{minor}"));
    let mig = if gpu.mig { ", split into instances (MIG)" } else { "" };
    format!(
        "{} {} ({} of {} GiB free{capability}{mig})",
        gpu.index,
        gpu.name,
        gpu.memory_free / GIB,
        gpu.memory_total / GIB
    )
}

pub(super) fn profiler(ncu: Option<&Path>, permission: ProfilingPermission) -> Check {
    let name = "Nsight Compute";
    let Some(ncu) = ncu else {
        return Check::warn(
            name,
            "not found; survivors are not profiled",
            "install nsight-compute (it comes with the CUDA toolkit) or put ncu on PATH",
        );
    };
    let admin = rustix::process::geteuid().is_root();
    match permission {
        ProfilingPermission::AdminOnly if !admin => Check::warn(
            name,
            format!("{}; the driver lets only administrators profile", ncu.display()),
            "as root: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > \
             /etc/modprobe.d/nvidia-profiling.conf, then reboot",
        ),
        _ => Check::ok(name, ncu.display().to_string()),
    }
}

pub(super) fn sandbox(abilities: &SandboxAbilities) -> Check {
    let name = "sandbox";
    let landlock = match abilities.landlock {
        0 => "no Landlock".to_owned(),
        abi => format!("Landlock ABI {abi}"),
    };
    if abilities.landlock > 0 && abilities.missing.is_empty() {
        return Check::ok(name, landlock);
    }
    let missing = match abilities.missing.as_slice() {
        [] => "files, network and signals".to_owned(),
        some => some.join(", "),
    };
    Check::warn(
        name,
        format!("{landlock}; not enforced: {missing}"),
        "use Linux 6.12 or newer with Landlock, or accept less with --sandbox best-effort",
    )
}

/// Looks without creating anything.
pub(super) fn database(path: &Path) -> Check {
    let name = "database";
    let existing = nearest(path);
    let writable = rustix::fs::access(&existing, rustix::fs::Access::WRITE_OK).is_ok();
    let fits = existing == path || existing.is_dir();
    if writable && fits && !path.is_dir() {
        let state = if existing == path { "" } else { " (created by the first run)" };
        return Check::ok(name, format!("{}{state}", path.display()));
    }
    Check::missing(
        name,
        format!("{} cannot be written", path.display()),
        format!("check the permissions of {}, or use --db", existing.display()),
    )
}

pub(super) fn free_space(path: &Path) -> Check {
    let name = "free space";
    let place = nearest(path);
    match fs4::available_space(&place) {
        Ok(bytes) if bytes < LITTLE_SPACE => Check::warn(
            name,
            format!("{} MiB at {}", bytes >> 20, place.display()),
            "free some, or put the database elsewhere with --db",
        ),
        Ok(bytes) => Check::ok(name, format!("{} GiB at {}", bytes / GIB, place.display())),
        Err(error) => Check::warn(name, format!("unknown: {error}"), "check the disk with df"),
    }
}

/// `path` or the nearest folder above it that exists.
fn nearest(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.ancestors().find(|ancestor| ancestor.exists()).map_or(absolute.clone(), Path::to_owned)
}
