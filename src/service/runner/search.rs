//! The child process that searches: this binary, or what the configuration puts around it.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStdin, Command},
    task::JoinHandle,
};

/// Of what a child prints, the end is kept: it says what went wrong.
const KEPT_OUTPUT: usize = 16 << 10;
/// How long the pipes of a child that has ended may stay open.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How the engine is started.
#[derive(Clone, Debug)]
pub struct EngineCommand {
    /// Program and first arguments; `optimize …` follows.
    pub program: Vec<String>,
    /// Further arguments of `optimize`, for example `--device cpu`.
    pub arguments: Vec<String>,
    /// Names of variables that it sees of the runner's environment, besides those it needs anyway.
    pub environment: Vec<String>,
}

/// Variables without which Python, CUDA or a container's client do not work. None of them is a secret.
const PASSED_ON: [&str; 18] = [
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "KERNELBRAIN_PYTHON",
    "KERNELBRAIN_LOG",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// One search.
#[derive(Clone, Debug)]
pub(super) struct SearchOrder {
    pub(super) configuration: PathBuf,
    pub(super) kernel: String,
    pub(super) output: PathBuf,
    pub(super) database: PathBuf,
    pub(super) budget: Duration,
    /// The run to go on with.
    pub(super) resume: Option<String>,
}

/// A search under way.
#[derive(Debug)]
pub(super) struct SearchProcess {
    child: Child,
    group: Option<Pid>,
    /// Open as long as this process lives: the engine ends when it closes.
    lifeline: Option<ChildStdin>,
    output: [Option<JoinHandle<Vec<u8>>>; 2],
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SearchEnd {
    /// `None` where it was killed.
    pub(super) status: Option<i32>,
    /// The end of what it printed: untrusted.
    pub(super) said: String,
}

impl EngineCommand {
    pub(super) fn start(
        &self,
        order: &SearchOrder,
        folder: &Path,
    ) -> std::io::Result<SearchProcess> {
        let Some((program, first)) = self.program.split_first() else {
            return Err(std::io::Error::other("no engine is configured"));
        };
        let mut command = Command::new(program);
        command.args(first).arg("optimize").arg("--while-stdin-is-open").arg("--plain");
        command.arg("--config").arg(&order.configuration);
        command.arg("--kernel").arg(&order.kernel);
        command.arg("--out").arg(&order.output);
        command.arg("--db").arg(&order.database);
        command.arg("--budget").arg(format!("{}s", order.budget.as_secs()));
        if let Some(run) = &order.resume {
            command.arg("--resume").arg(run);
        }
        command.args(&self.arguments);
        command.env_clear();
        let own = self.environment.iter().map(String::as_str);
        for name in PASSED_ON.into_iter().chain(own) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.current_dir(folder).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let lifeline = child.stdin.take();
        let stdout = child.stdout.take().map(|pipe| tokio::spawn(tail(pipe)));
        let stderr = child.stderr.take().map(|pipe| tokio::spawn(tail(pipe)));
        Ok(SearchProcess { child, group, lifeline, output: [stdout, stderr] })
    }
}

impl SearchProcess {
    /// Waits for its end.
    pub(super) async fn end(&mut self) -> std::io::Result<SearchEnd> {
        // Waiting must not close it, as `Child::wait` would.
        let status = self.child.wait().await?.code();
        self.lifeline = None;
        // Nothing of it lives on.
        self.signal(Signal::KILL);
        let mut said = String::new();
        for pipe in self.output.iter_mut().filter_map(Option::take) {
            if let Ok(Ok(bytes)) = tokio::time::timeout(LAST_WORDS, pipe).await {
                said.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        Ok(SearchEnd { status, said })
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            kill_process_group(group, signal).ok();
        }
    }
}

/// Killed at any moment, a search goes on from its journal: there is no need to ask it to stop.
impl Drop for SearchProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// The last of what comes out of a pipe.
async fn tail(mut pipe: impl AsyncRead + Unpin) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), vec![0; 8 << 10]);
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..read]);
        if kept.len() > 2 * KEPT_OUTPUT {
            kept.drain(..kept.len() - KEPT_OUTPUT);
        }
    }
    let surplus = kept.len().saturating_sub(KEPT_OUTPUT);
    kept.drain(..surplus);
    kept
}
