//! Starting the plane's Python processes: confined before Python runs, with a clean environment
//! and a socket as file descriptor 0.

use std::{
    ffi::OsString,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::{net::UnixStream, process};

use super::{error::EvaluateError, log_tail::LogTail, sandbox};

/// Variables that a GPU machine's libraries need; nothing else of the parent's environment, and
/// so none of its secrets, reaches the plane.
const INHERITED: [&str; 12] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "CC",
    "TRITON_PTXAS_PATH",
];

/// The variables of this process that every process of the plane gets.
pub(crate) fn inherited() -> impl Iterator<Item = (&'static str, OsString)> {
    INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

/// A started process, before the first word is exchanged.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) socket: UnixStream,
    pub(crate) process: process::Child,
    pub(crate) log: LogTail,
}

/// How to start a process of the plane.
#[derive(Debug)]
pub(crate) struct Spawn<'a> {
    /// This binary: it confines itself, then becomes the program.
    pub(crate) launcher: &'a Path,
    pub(crate) policy: &'a sandbox::Policy,
    /// Whether the kernel kills it when this process ends, however that happens.
    pub(crate) die_with_parent: bool,
    /// Folder for the policy file; the process's `HOME` and `TMPDIR`.
    pub(crate) scratch: &'a Path,
    pub(crate) program: &'a Path,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: &'a Path,
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

impl Spawn<'_> {
    /// Starts it with a socket as its standard input.
    pub(crate) fn connected(self) -> Result<Spawned, EvaluateError> {
        let program = self.program.to_owned();
        let fail = |source| EvaluateError::Spawn { program: program.clone(), source };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(fail)?;
        ours.set_nonblocking(true).map_err(fail)?;
        let socket = UnixStream::from_std(ours).map_err(fail)?;
        let mut command = self.command()?;
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        let mut process = command.spawn().map_err(fail)?;
        let log = LogTail::default();
        if let Some(stdout) = process.stdout.take() {
            log.drain(stdout);
        }
        if let Some(stderr) = process.stderr.take() {
            log.drain(stderr);
        }
        Ok(Spawned { socket, process, log })
    }

    /// The command, with its output piped and nothing as its input.
    pub(crate) fn command(self) -> Result<process::Command, EvaluateError> {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let policy_path = self.scratch.join(format!("{name}-{:08x}.policy", rand::random::<u32>()));
        write_policy(self.policy, &policy_path)?;
        let mut command = process::Command::new(self.launcher);
        command
            .arg("sandbox-exec")
            .arg(&policy_path)
            .args(self.die_with_parent.then_some("--die-with-parent"))
            .arg("--")
            .arg(self.program)
            .args(self.arguments)
            .current_dir(self.directory)
            .env_clear()
            .envs(inherited())
            .env("HOME", self.scratch)
            .env("TMPDIR", self.scratch)
            .envs(self.environment)
            // Ctrl-C on a terminal is for this process, which ends the others in order.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }
}

fn write_policy(policy: &sandbox::Policy, path: &Path) -> Result<(), EvaluateError> {
    let text = serde_json::to_vec(policy).map_err(std::io::Error::other);
    text.and_then(|text| std::fs::write(path, text))
        .map_err(|source| EvaluateError::Scratch { path: PathBuf::from(path), source })
}
