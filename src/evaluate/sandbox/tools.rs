//! The programs that compiling a kernel starts, and the devices that computing on a GPU opens.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What a C compiler starts to build a shared object.
const COMPILER_STEPS: &[&str] = &["cc1", "collect2", "as", "ld", "ld.bfd", "ld.gold", "ld.lld"];

/// Where Triton keeps `ptxas` and its siblings, below a folder that packages are imported from.
const TRITON_TOOLS: &str = "triton/backends/nvidia/bin";

/// Programs whose interpreter the kernel starts in their stead.
const LOADERS: &[&str] = &[
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// Devices that hold nothing of anybody's.
const COMMON_DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// What CUDA opens besides the devices whose name begins with `nvidia`: its shared memory, and the
/// GPU of the Windows Subsystem for Linux.
const GPU_DEVICES: &[&str] = &["shm", "dxg"];

/// The programs that a candidate's process may start: Triton compiles with `ptxas`, and builds a
/// launcher with a C compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// Each program or folder of programs by the path of the file itself, links resolved, sorted.
    pub programs: Vec<PathBuf>,
}

impl Toolchain {
    /// Finds the tools of the Triton below `packages` (the interpreter's site-packages), and the C
    /// compiler that Triton would take: `cc` if given, else `gcc`, else `clang` from `PATH`.
    pub fn find(packages: &[PathBuf], cc: Option<&Path>) -> Self {
        let mut programs: Vec<PathBuf> = packages.iter().map(|p| p.join(TRITON_TOOLS)).collect();
        programs.extend(LOADERS.iter().map(PathBuf::from));
        // Triton asks it where libcuda is. On Ubuntu it is a script, which no candidate needs: the
        // zygote has asked before.
        programs.push("/sbin/ldconfig".into());
        let compiler = cc
            .and_then(program)
            .or_else(|| ["gcc", "clang"].iter().find_map(|name| program(Path::new(name))));
        if let Some(compiler) = compiler {
            programs.extend(COMPILER_STEPS.iter().filter_map(|step| step_of(&compiler, step)));
            let beside = compiler.parent().unwrap_or(Path::new("/"));
            let siblings = COMPILER_STEPS.iter().map(|step| beside.join(step));
            programs.extend(siblings.filter(|sibling| sibling.is_file()));
            programs.extend(parts_of_script(&compiler));
            programs.push(compiler);
        }
        let mut programs: Vec<PathBuf> =
            programs.iter().filter_map(|path| path.canonicalize().ok()).collect();
        programs.sort();
        programs.dedup();
        Self { programs }
    }
}

/// The program itself if it is a path, else the first of that name on `PATH`.
fn program(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_owned());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// What a compiler that is a script starts: its interpreter (which can do nothing that Python
/// could not; it is confined like the rest) and the programs that it names by absolute path.
fn parts_of_script(compiler: &Path) -> Vec<PathBuf> {
    let Ok(bytes) = fs::read(compiler) else { return Vec::new() };
    if !bytes.starts_with(b"#!") {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let words = text.split(|c: char| c.is_whitespace() || "\"'=;()#!".contains(c));
    let named = words.map(Path::new).filter(|path| path.is_absolute() && path.is_file());
    named.filter(|path| is_executable(path)).map(Path::to_owned).collect()
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// What `compiler` starts for one of its steps. It answers with a bare name for what it looks up
/// on `PATH`, and for what it does not know.
fn step_of(compiler: &Path, step: &str) -> Option<PathBuf> {
    let answer = Command::new(compiler)
        .arg(format!("-print-prog-name={step}"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let answer = String::from_utf8(answer.stdout).ok()?;
    program(Path::new(answer.trim()))
}

/// The entries of `dev` (normally `/dev`) that a process may open, to read and to write. Never the
/// whole folder: it holds disks, which a process of root could read and overwrite.
pub fn devices(dev: &Path, gpu: bool) -> Vec<PathBuf> {
    let mut devices: Vec<PathBuf> = COMMON_DEVICES.iter().map(|name| dev.join(name)).collect();
    if gpu {
        devices.extend(GPU_DEVICES.iter().map(|name| dev.join(name)));
        let entries = fs::read_dir(dev).into_iter().flatten().flatten();
        devices.extend(
            entries
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("nvidia"))
                .map(|entry| entry.path()),
        );
    }
    devices.retain(|device| device.exists());
    devices.sort();
    devices
}
