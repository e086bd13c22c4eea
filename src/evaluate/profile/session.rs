//! One run of the profiler: a conversation with the process that it looks into.

use std::{io, os::fd::OwnedFd, path::Path, process::Stdio, time::Duration};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};
use tokio::{
    net::UnixListener,
    process::{Child, Command},
    time::timeout,
};

use crate::evaluate::{
    log_tail::LogTail,
    watch::{Quota, Watch, WatchGuard, kill_family},
    wire::{Connection, WireError},
};

/// How long each step may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// From the start to the connection: the profiler's start and the imports of torch and triton.
    pub(super) start: Duration,
    /// Importing the candidate.
    pub(super) load: Duration,
    /// Both calls, the second one as often as there are groups of counters.
    pub(super) profile: Duration,
    /// From the end of the profiled process to the end of the profiler.
    pub(super) finish: Duration,
}

/// Why there is nothing to read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("Nsight Compute cannot be started: {0}")]
    Start(io::Error),
    #[error("the profiled process did not begin within {} s{}", .0.as_secs(), excerpt(.1))]
    Slow(Duration, String),
    #[error("Nsight Compute ended before there was anything to profile{}", excerpt(.0))]
    Ended(String),
    #[error("{doing}: {error}{}", excerpt(.log))]
    Candidate { doing: &'static str, error: WireError, log: String },
    #[error("the profiled process {0}")]
    Excess(String),
    #[error("Nsight Compute did not end within {} s after the last kernel", .0.as_secs())]
    Unfinished(Duration),
}

fn excerpt(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!(" ({})", log.replace('\n', "; ")) }
}

/// A profiler that runs, with the process it has started.
#[derive(Debug)]
pub(super) struct Session {
    process: Child,
    pid: i32,
    /// The process that is looked into, for ever; the profiler may end before it.
    target: Option<OwnedFd>,
    connection: Connection,
    log: LogTail,
    limits: Limits,
}

impl Session {
    /// Starts `command`, which must connect to `socket`.
    pub(super) async fn start(
        mut command: Command,
        socket: &Path,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let listener = UnixListener::bind(socket).map_err(Failure::Start)?;
        // A group of its own, which Ctrl-C on a terminal does not reach.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(Failure::Start)?;
        let pid = process.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default();
        let log = LogTail::default();
        if let Some(stdout) = process.stdout.take() {
            log.drain(stdout);
        }
        if let Some(stderr) = process.stderr.take() {
            log.drain(stderr);
        }
        let connected = tokio::select! {
            connected = timeout(limits.start, listener.accept()) => Some(connected),
            _ = process.wait() => None,
        };
        let failure = match connected {
            Some(Ok(Ok((stream, _)))) => {
                let target = stream.peer_cred().ok().and_then(|peer| peer.pid());
                let target = target.and_then(Pid::from_raw);
                let target = target.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                let connection = Connection::new(stream);
                return Ok(Self { process, pid, target, connection, log, limits });
            }
            Some(Ok(Err(error))) => Failure::Start(error),
            Some(Err(_)) => Failure::Slow(limits.start, log.last_lines(3)),
            None => Failure::Ended(log.final_lines(3).await),
        };
        kill_profiler(pid, &mut process).await;
        Err(failure)
    }

    /// Imports the candidate; nothing of that needs the GPU.
    pub(super) async fn load(&mut self, request: Value) -> Result<(), Failure> {
        let limit = self.limits.load;
        self.ask("load", request, limit, "the candidate could not be imported").await
    }

    /// Has one call profiled, and waits until the process has ended and let go of the GPU.
    pub(super) async fn profile(&mut self, inputs: &Value, call: &Value) -> Result<(), Failure> {
        let limit = self.limits.profile;
        let request = json!({"inputs": inputs, "call": call});
        self.ask("profile", request, limit, "the candidate could not be called").await?;
        if self.connection.closed(self.limits.finish).await {
            Ok(())
        } else {
            Err(Failure::Unfinished(self.limits.finish))
        }
    }

    async fn ask(
        &mut self,
        op: &str,
        body: Value,
        limit: Duration,
        doing: &'static str,
    ) -> Result<(), Failure> {
        let answer: Result<Value, WireError> = self.connection.request(op, body, limit).await;
        let error = match answer {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let log = match error {
            WireError::Refused(_) => String::new(),
            WireError::TimedOut(_) => self.log.last_lines(3),
            _ => self.log.final_lines(3).await,
        };
        Err(Failure::Candidate { doing, error, log })
    }

    /// Waits until the profiler has written everything.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        match timeout(self.limits.finish, self.process.wait()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Failure::Unfinished(self.limits.finish)),
        }
    }

    /// Watches what the profiler and the process below it use.
    pub(super) fn watched(&self, watch: &Watch, scratch: &Path, quota: Quota) -> WatchGuard {
        watch.over(self.pid, scratch, quota)
    }

    /// Kills the process that is looked into.
    pub(super) fn kill(&self) {
        if let Some(target) = &self.target {
            // An error says that it has ended already.
            pidfd_send_signal(target, Signal::KILL).ok();
        }
    }

    /// Ends the profiler and all that it has started, if they are still there.
    pub(super) async fn end(mut self) {
        kill_profiler(self.pid, &mut self.process).await;
        self.kill();
    }
}

/// Kills the profiler, unless it has ended, and all below it.
async fn kill_profiler(pid: i32, process: &mut Child) {
    if matches!(process.try_wait(), Ok(Some(_))) {
        return;
    }
    if pid > 0 {
        kill_family(pid);
    }
    // It cannot refuse; what is left of it after that is the kernel's.
    timeout(Duration::from_secs(5), process.wait()).await.ok();
}
