//! A program and whatever it starts: talked to within bounds, and ended as one.

use std::{
    convert::Infallible,
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, Command},
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// How long streams may stay open after the program has ended. They do so where something that it
/// started has left the group and lives on.
const GRACE: Duration = Duration::from_secs(1);

/// What is kept of standard error.
const ERRORS: usize = 8 * 1024;

/// What a program printed.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) stdout: Vec<u8>,
    /// The last of it.
    pub(super) stderr: Vec<u8>,
    /// `None` if it was ended because it printed more than it may.
    pub(super) status: Option<ExitStatus>,
}

/// A running program at the head of a process group of its own, which ends with this value.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    child: Child,
    /// `None` once the program is reaped: until then its number is not given to any other process
    /// or group, and can be signalled safely.
    group: Option<Pid>,
}

impl ProcessGroup {
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let child = command.spawn()?;
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        let group = number.and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { child, group: Some(group) })
    }

    /// Gives it `input`, takes what it prints, up to `limit` bytes, and ends the group when the
    /// program ends.
    pub(super) async fn converse(&mut self, input: &[u8], limit: usize) -> io::Result<Output> {
        let streams = (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (over, watch) = watch::channel(false);
        let (mut printed, mut errors) = (Vec::new(), Vec::new());
        let talk = async {
            let print = take(stdout, watch.clone(), |chunk| {
                printed.extend_from_slice(
                    &chunk[..chunk.len().min((limit - printed.len()).saturating_add(1))],
                );
                printed.len() <= limit
            });
            let complain = take(stderr, watch.clone(), |chunk| {
                errors.extend_from_slice(chunk);
                errors.drain(..errors.len().saturating_sub(ERRORS));
                true
            });
            // A program that prints too much is not waited for.
            let print = async { if print.await { Ok(()) } else { Err(TooMuch) } };
            let rest = async { Ok(tokio::join!(give(stdin, input, watch.clone()), complain)) };
            tokio::try_join!(print, rest).is_ok()
        };
        let complete = tokio::select! {
            complete = talk => complete,
            never = self.cut(&over) => match never? {},
        };
        if !complete {
            return Ok(Output { stdout: printed, stderr: errors, status: None });
        }
        self.ended().await?;
        self.kill();
        let status = self.child.wait().await?;
        self.group = None;
        Ok(Output { stdout: printed, stderr: errors, status: Some(status) })
    }

    /// Says that it is over some time after the program has ended.
    async fn cut(&self, over: &watch::Sender<bool>) -> io::Result<Infallible> {
        self.ended().await?;
        self.kill();
        tokio::time::sleep(GRACE).await;
        over.send_replace(true);
        std::future::pending().await
    }

    /// Waits for the program to end, without reaping it.
    async fn ended(&self) -> io::Result<()> {
        let Some(group) = self.group else { return Ok(()) };
        // Listened to before the first look, so that no end is missed.
        let mut ends = signal(SignalKind::child())?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(group), look)?.is_none() {
            ends.recv().await;
        }
        Ok(())
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            // It fails if everything in the group has ended.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// More output than is allowed.
struct TooMuch;

/// Hands what comes from `stream` to `keep` until it ends, it is over, or `keep` has had enough.
/// Whether it had not.
async fn take(
    mut stream: impl AsyncRead + Unpin,
    mut over: watch::Receiver<bool>,
    mut keep: impl FnMut(&[u8]) -> bool,
) -> bool {
    let mut chunk = [0; 8 * 1024];
    loop {
        let count = tokio::select! {
            biased;
            count = stream.read(&mut chunk) => count.unwrap_or(0),
            _ = over.wait_for(|over| *over) => 0,
        };
        if count == 0 {
            return true;
        }
        if !keep(&chunk[..count]) {
            return false;
        }
    }
}

/// Writes `input` and closes the stream. A program that does not read all of it is within its
/// rights.
async fn give(mut stream: ChildStdin, input: &[u8], mut over: watch::Receiver<bool>) {
    tokio::select! {
        _ = stream.write_all(input) => {}
        _ = over.wait_for(|over| *over) => {}
    }
}
