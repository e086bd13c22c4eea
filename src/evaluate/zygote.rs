//! The zygote: a sandboxed Python that has torch and triton imported and forks one child per
//! evaluation. Its connection carries answers and, in between, notices of children that ended.

use std::{
    collections::HashMap,
    io::{self, IoSlice},
    mem::MaybeUninit,
    os::fd::AsFd,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncReadExt, Interest},
    net::{UnixStream, unix::OwnedReadHalf, unix::OwnedWriteHalf},
    process,
    sync::{oneshot, watch},
    time::timeout,
};

use super::{
    child::ChildProcess,
    log_tail::LogTail,
    plane::Device,
    protocol::ZygoteHello,
    sandbox::Confinement,
    spawn::Spawned,
    wire::{Answer, LineBuffer, WireError, request_line},
};

/// A fork answers within milliseconds; this allows for a machine under load.
const FORK_LIMIT: Duration = Duration::from_secs(20);

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Exit {
    pub(crate) pid: i32,
    #[serde(default)]
    pub(crate) code: Option<i32>,
    #[serde(default)]
    pub(crate) signal: Option<i32>,
}

#[derive(Debug, Default)]
struct Shared {
    answers: HashMap<u64, oneshot::Sender<Answer>>,
    exits: HashMap<i32, watch::Sender<Option<Exit>>>,
    closed: bool,
}

/// Knows whether the zygote that a child came from still runs.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    shared: Arc<Mutex<Shared>>,
    pub(crate) generation: u32,
}

impl Origin {
    pub(crate) fn is_gone(&self) -> bool {
        lock(&self.shared).closed
    }
}

/// A running zygote.
#[derive(Debug)]
pub(crate) struct Zygote {
    /// Counts the zygotes of a plane.
    pub(crate) generation: u32,
    writer: tokio::sync::Mutex<(OwnedWriteHalf, u64)>,
    shared: Arc<Mutex<Shared>>,
    process: tokio::sync::Mutex<process::Child>,
    log: LogTail,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Zygote {
    pub(crate) fn new(spawned: Spawned, generation: u32) -> Self {
        let (reader, writer) = spawned.socket.into_split();
        let shared = Arc::new(Mutex::new(Shared::default()));
        tokio::spawn(listen(reader, Arc::clone(&shared)));
        Self {
            generation,
            writer: tokio::sync::Mutex::new((writer, 1)),
            shared,
            process: tokio::sync::Mutex::new(spawned.process),
            log: spawned.log,
        }
    }

    /// Hands over the limits and the sandbox of its children; waits for its imports.
    pub(crate) async fn hello(
        &self,
        device: Device,
        child: &Confinement,
        limit: Duration,
    ) -> Result<ZygoteHello, WireError> {
        let mut body = json!({"device": device.to_string(), "child": child});
        if let Device::Cuda { capability: (major, minor), .. } = device {
            // Lets it find out once what every child would ask the compiler's tools.
            body["capability"] = json!([major, minor]);
        }
        let answer = self.request("hello", body, None, limit).await?;
        answer.read()
    }

    /// Forks a child whose scratch folder is `scratch`.
    pub(crate) async fn fork(&self, scratch: &Path) -> Result<ChildProcess, WireError> {
        #[derive(Deserialize)]
        struct Forked {
            pid: i32,
        }
        let (ours, theirs) = UnixStream::pair()?;
        let theirs = theirs.into_std()?;
        theirs.set_nonblocking(false)?;
        let body = json!({"scratch": scratch});
        let forked: Forked = self.request("fork", body, Some(&theirs), FORK_LIMIT).await?.read()?;
        drop(theirs);
        let exit = lock(&self.shared)
            .exits
            .entry(forked.pid)
            .or_insert_with(|| watch::channel(None).0)
            .subscribe();
        let origin = Origin { shared: Arc::clone(&self.shared), generation: self.generation };
        Ok(ChildProcess::new(forked.pid, ours, exit, scratch.to_owned(), origin))
    }

    /// Forgets a child that has been reaped.
    pub(crate) fn forget(&self, pid: i32) {
        lock(&self.shared).exits.remove(&pid);
    }

    pub(crate) fn log(&self) -> &LogTail {
        &self.log
    }

    /// Closes its connection, which makes it kill its children and end.
    pub(crate) async fn close(self) {
        let Self { writer, process, .. } = self;
        drop(writer);
        let mut process = process.into_inner();
        if timeout(Duration::from_secs(5), process.wait()).await.is_err() {
            // Nothing better is left; what it leaves behind was watched by nobody else.
            process.kill().await.ok();
        }
    }

    /// Ends it at once, its children with it: they die with their parent.
    pub(crate) async fn kill(self) {
        self.process.into_inner().kill().await.ok();
    }

    async fn request(
        &self,
        op: &str,
        body: Value,
        descriptor: Option<&std::os::unix::net::UnixStream>,
        limit: Duration,
    ) -> Result<Answer, WireError> {
        let Value::Object(body) = body else {
            return Err(WireError::Malformed("a request must be an object".into()));
        };
        let receiver = {
            let mut writer = self.writer.lock().await;
            let id = writer.1;
            writer.1 += 1;
            let (sender, receiver) = oneshot::channel();
            {
                let mut shared = lock(&self.shared);
                if shared.closed {
                    return Err(WireError::Closed);
                }
                shared.answers.insert(id, sender);
            }
            send(&writer.0, id, op, body, descriptor).await?;
            receiver
        };
        match timeout(limit, receiver).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(WireError::Closed),
            Err(_) => Err(WireError::TimedOut(limit)),
        }
    }
}

/// Writes one request; the descriptor travels with its first byte.
async fn send(
    writer: &OwnedWriteHalf,
    id: u64,
    op: &str,
    body: Map<String, Value>,
    descriptor: Option<&std::os::unix::net::UnixStream>,
) -> Result<(), WireError> {
    let line = request_line(id, op, body);
    let stream: &UnixStream = writer.as_ref();
    let mut sent = 0;
    while sent < line.len() {
        let count = stream
            .async_io(Interest::WRITABLE, || {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut ancillary = SendAncillaryBuffer::new(&mut space);
                let descriptors = descriptor.filter(|_| sent == 0).map(|d| [d.as_fd()]);
                if let Some(descriptors) = &descriptors {
                    ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
                }
                let bytes = [IoSlice::new(&line[sent..])];
                sendmsg(stream, &bytes, &mut ancillary, SendFlags::NOSIGNAL)
                    .map_err(io::Error::from)
            })
            .await?;
        sent += count;
    }
    Ok(())
}

/// Sorts what the zygote writes into answers and notices until it ends.
async fn listen(mut reader: OwnedReadHalf, shared: Arc<Mutex<Shared>>) {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Line {
        Notice { exited: Exit },
        Answer(Box<Answer>),
    }
    let mut buffer = LineBuffer::default();
    let mut chunk = [0; 16 * 1024];
    loop {
        match buffer.take_line() {
            Ok(Some(line)) => match serde_json::from_slice(&line) {
                Ok(Line::Notice { exited }) => {
                    lock(&shared)
                        .exits
                        .entry(exited.pid)
                        .or_insert_with(|| watch::channel(None).0)
                        .send_replace(Some(exited));
                }
                Ok(Line::Answer(answer)) => {
                    if let Some(waiting) = lock(&shared).answers.remove(&answer.id) {
                        // Whoever asked may have given up; then nobody needs the answer.
                        waiting.send(*answer).ok();
                    }
                }
                Err(_) => break,
            },
            Ok(None) => match reader.read(&mut chunk).await {
                Ok(count @ 1..) => buffer.extend(&chunk[..count]),
                _ => break,
            },
            Err(_) => break,
        }
    }
    let mut shared = lock(&shared);
    shared.closed = true;
    shared.answers.clear();
    shared.exits.clear();
}
