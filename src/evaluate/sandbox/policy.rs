//! Which paths each kind of process may use.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{SandboxError, Toolchain, devices, syscalls};

/// Where every process may read: what the system installs, and what the kernel tells.
const SYSTEM: &[&str] = &[
    "/usr",
    "/lib",
    "/lib64",
    "/lib32",
    "/bin",
    "/sbin",
    "/etc",
    "/opt",
    "/sys",
    "/proc",
    "/nix/store",
    "/run/opengl-driver",
    "/var/lib/nvidia",
];

/// The folder with everybody's files, if one of those that contracts and tests may read, in which `path`
/// lies.
pub fn readable_folder(path: &Path) -> Option<&'static str> {
    SYSTEM.iter().copied().find(|folder| path.starts_with(folder))
}

/// The same without programs: a candidate reads libraries and headers, and runs its tools only.
/// (With a program readable and the dynamic loader executable, the program is executable.)
const SYSTEM_WITHOUT_PROGRAMS: &[&str] = &[
    "/usr/include",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib32",
    "/usr/libexec",
    "/usr/share",
    "/usr/local/cuda",
    "/usr/local/include",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/nvidia",
    "/usr/local/share",
    "/lib",
    "/lib64",
    "/lib32",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/nv_tegra_release",
    "/etc/OpenCL",
    "/etc/passwd",
    "/etc/group",
    "/opt",
    "/sys",
    "/proc",
    "/nix/store",
    "/run/opengl-driver",
    "/var/lib/nvidia",
];

/// What the caller knows about where a process works.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// Folders of the interpreter: its prefixes and every folder that it imports packages from.
    pub python: Vec<PathBuf>,
    /// Further paths that may be read: the harness, an in-tree target's checkout; for the referee
    /// also the contract's folder.
    pub readable: Vec<PathBuf>,
    /// Folders that may be written, besides a child's own scratch (which it adds itself): the
    /// process's scratch, and for the cpu device the folder of the mapped files.
    pub writable: Vec<PathBuf>,
    /// Whether the process uses a GPU, and needs its devices.
    pub gpu: bool,
    /// Go on where the kernel enforces only a part.
    pub best_effort: bool,
    /// Whether it reads a GPU's performance counters, for which some drivers ask for an administrator.
    pub profiler: bool,
}

/// What a process may read, write and execute. A folder stands for everything beneath it; a path
/// that does not exist is passed over. The network, signals to processes outside and the system
/// calls of the deny-list are always barred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub execute: Vec<PathBuf>,
    /// Folders whose files may be read and written in place, but not made, removed or cut short:
    /// the referee has them mapped, and would die of a missing page. Candidates only.
    #[serde(default)]
    pub map: Vec<PathBuf>,
    /// Go on where the kernel enforces only a part.
    #[serde(default)]
    pub best_effort: bool,
    /// Keep a process of root able to read a GPU's performance counters. It can then also read the
    /// environment of other processes, so that this is for the short life of a profiled process.
    #[serde(default)]
    pub profiler: bool,
}

impl Policy {
    /// For the referee, the zygote and the repository's tests: writes only to its ground, the
    /// devices and `/proc`; executes what it can read.
    pub fn process(ground: &Ground) -> Self {
        let mut policy = Self::on(ground, SYSTEM);
        // A zygote's children write to their own folder in /proc, which does not exist yet.
        policy.write.push("/proc".into());
        policy.execute = policy.read.clone();
        policy
    }

    /// For a candidate's process: executes the compiler's tools only, and writes in `/proc` only to
    /// its own folder, `/proc/self` as it is when the process restricts itself. (For root, the rest
    /// of a writable `/proc` is a way out of the sandbox.)
    pub fn candidate(ground: &Ground, tools: &Toolchain) -> Self {
        let mut policy = Self::on(ground, SYSTEM_WITHOUT_PROGRAMS);
        policy.write.retain(|path| !ground.writable.contains(path));
        policy.map = ground.writable.clone();
        policy.write.push("/proc/self".into());
        policy.read.extend(tools.programs.iter().cloned());
        policy.execute = tools.programs.clone();
        policy
    }

    fn on(ground: &Ground, system: &[&str]) -> Self {
        let system = system.iter().map(PathBuf::from);
        let devices = devices(Path::new("/dev"), ground.gpu);
        let read = system.chain(ground.python.iter().chain(&ground.readable).cloned());
        Self {
            read: read.chain(devices.iter().chain(&ground.writable).cloned()).collect(),
            write: ground.writable.iter().chain(&devices).cloned().collect(),
            execute: Vec::new(),
            map: Vec::new(),
            best_effort: ground.best_effort,
            profiler: ground.profiler,
        }
    }

    /// What a zygote needs to know to confine its children: `child` of `hello` in the protocol.
    pub fn confinement(&self, limits: Limits) -> Result<Confinement, SandboxError> {
        let seccomp = match syscalls::filter() {
            Ok(program) => syscalls::hex(&program),
            Err(_) if self.best_effort => String::new(),
            Err(error) => return Err(error),
        };
        Ok(Confinement { policy: self.clone(), seccomp, limits })
    }
}

/// What one child may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Private memory, bytes; enforced on the cpu device (CUDA reserves far more than it uses).
    pub memory_bytes: u64,
    /// The longest file that it may write, bytes; its output included.
    pub file_bytes: u64,
    /// Open file descriptors.
    pub open_files: u64,
}

/// A policy with its system call filter and limits, as the zygote takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    #[serde(flatten)]
    pub policy: Policy,
    /// The BPF program in hex; empty where there is none for the architecture.
    pub seccomp: String,
    #[serde(flatten)]
    pub limits: Limits,
}
