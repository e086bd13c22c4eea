//! A child: the candidate's own process, used for one evaluation and then killed.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{net::UnixStream, sync::watch, time::timeout};

use super::{
    protocol::{BurstPlan, Compiled, Delivered, Loaded, Ran, Ready, Timed, TimedBackward},
    wire::{Connection, WireError},
    zygote::{Exit, Origin},
};

/// Under what circumstances a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launches {
    Real,
    /// Kernels do nothing, to see whether the answer needs them.
    Muted,
    /// They work, and torch's operators beside them are noticed.
    Watched,
    /// The caller's stream writes the inputs only while the call is made (cuda), to see whether
    /// the work waits for it.
    Late,
}

/// The parent's end of a child.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    pid: i32,
    /// Refers to this process for ever; a number may be given to another one.
    handle: Option<OwnedFd>,
    connection: Connection,
    exit: watch::Receiver<Option<Exit>>,
    scratch: PathBuf,
    origin: Origin,
}

impl ChildProcess {
    pub(crate) fn new(
        pid: i32,
        socket: UnixStream,
        exit: watch::Receiver<Option<Exit>>,
        scratch: PathBuf,
        origin: Origin,
    ) -> Self {
        let handle = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Self { pid, handle, connection: Connection::new(socket), exit, scratch, origin }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// The zygote that it was forked from.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Imports the candidate.
    pub(crate) async fn load(
        &mut self,
        request: Value,
        limit: Duration,
    ) -> Result<Loaded, WireError> {
        self.request("load", request, limit).await
    }

    /// Compiles without a launch.
    pub(crate) async fn compile(
        &mut self,
        request: Value,
        limit: Duration,
    ) -> Result<Compiled, WireError> {
        self.request("compile", request, limit).await
    }

    /// Opens the device and the buffers of a case, and warms up what the first call would wait for.
    /// `queues`: how many hardware queues the device context gets, where that is not left to the
    /// driver.
    pub(crate) async fn attach(
        &mut self,
        inputs: &Value,
        queues: Option<u32>,
        limit: Duration,
    ) -> Result<Value, WireError> {
        self.request("attach", json!({"inputs": inputs, "queues": queues}), limit).await
    }

    /// Takes what memory a call and a burst will ask for and loads what was compiled, without a
    /// launch.
    pub(crate) async fn prepare(
        &mut self,
        inputs: &Value,
        plan: &BurstPlan,
        limit: Duration,
    ) -> Result<Value, WireError> {
        self.request("prepare", json!({"inputs": inputs, "timing": plan}), limit).await
    }

    /// Calls the entry once.
    pub(crate) async fn run(
        &mut self,
        inputs: &Value,
        call: &Value,
        launches: Launches,
        limit: Duration,
    ) -> Result<Ran, WireError> {
        let muted = launches == Launches::Muted;
        let late = launches == Launches::Late;
        let watched = launches == Launches::Watched;
        let body = json!({
            "inputs": inputs, "call": call, "muted": muted, "late": late, "watched": watched,
        });
        self.request("run", body, limit).await
    }

    /// Calls once and looks at what that does besides: `what` of the protocol.
    pub(crate) async fn observe<T: DeserializeOwned>(
        &mut self,
        inputs: &Value,
        what: &str,
        limit: Duration,
    ) -> Result<T, WireError> {
        self.request("observe", json!({"inputs": inputs, "what": what}), limit).await
    }

    /// Opens sets of inputs for a burst and calls `warmup` times on the first.
    pub(crate) async fn ready(
        &mut self,
        sets: &[Value],
        call: &Value,
        plan: &BurstPlan,
        limit: Duration,
    ) -> Result<Ready, WireError> {
        self.request("ready", json!({"sets": sets, "call": call, "timing": plan}), limit).await
    }

    /// Times a burst of calls on the sets that are ready.
    pub(crate) async fn time(
        &mut self,
        call: &Value,
        plan: &BurstPlan,
        limit: Duration,
    ) -> Result<Timed, WireError> {
        self.request("time", json!({"call": call, "timing": plan}), limit).await
    }

    /// Does once more what the last burst did, but for the calls.
    pub(crate) async fn pace(
        &mut self,
        plan: &BurstPlan,
        limit: Duration,
    ) -> Result<Value, WireError> {
        self.request("pace", json!({"timing": plan}), limit).await
    }

    /// Times the backward pass of the last burst's last calls.
    pub(crate) async fn backward(
        &mut self,
        call: &Value,
        plan: &BurstPlan,
        limit: Duration,
    ) -> Result<TimedBackward, WireError> {
        self.request("backward", json!({"call": call, "timing": plan}), limit).await
    }

    /// Copies what a kept call of the last burst returned to where `landing` awaits it.
    pub(crate) async fn deliver(
        &mut self,
        number: usize,
        landing: &Value,
        call: &Value,
        limit: Duration,
    ) -> Result<Delivered, WireError> {
        let body = json!({"number": number, "inputs": landing, "call": call});
        self.request("deliver", body, limit).await
    }

    /// Gives back memory until the next request that needs it.
    pub(crate) async fn rest(&mut self, limit: Duration) -> Result<Value, WireError> {
        self.request("rest", json!({}), limit).await
    }

    async fn request<T: DeserializeOwned>(
        &mut self,
        op: &str,
        body: Value,
        limit: Duration,
    ) -> Result<T, WireError> {
        self.connection.request(op, body, limit).await
    }

    /// How it ended, if it ends within `limit`.
    pub(crate) async fn exit(&mut self, limit: Duration) -> Option<Exit> {
        let ended = timeout(limit, self.exit.wait_for(Option::is_some)).await;
        ended.ok()?.ok().and_then(|exit| *exit)
    }

    /// Kills it. The zygote kills what it leaves behind.
    pub(crate) fn kill(&self) {
        if let Some(handle) = &self.handle {
            // An error says that it has ended already.
            pidfd_send_signal(handle, Signal::KILL).ok();
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
