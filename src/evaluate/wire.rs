//! JSON lines over a Unix stream socket: the parent's end of `harness/PROTOCOL.md`.

use std::{
    io,
    time::{Duration, Instant},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    time::timeout,
};

/// Longest line the parent reads. Whatever writes more is broken or hostile.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// An error that the other side reported in the form of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RemoteError {
    /// One of the protocol's error kinds; not to be relied on when it comes from a child.
    pub kind: String,
    pub message: String,
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub line: Option<u32>,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("the process ended")]
    Closed,
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("answered with a line of more than {MAX_LINE} bytes")]
    TooLong,
    #[error("answered with something that is not the protocol: {0}")]
    Malformed(String),
    #[error("{}", .0.message)]
    Refused(RemoteError),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads lines of bounded length.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    scanned: usize,
}

impl LineBuffer {
    /// The next whole line, without its end.
    pub(crate) fn take_line(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        if let Some(end) = self.bytes[self.scanned..].iter().position(|&byte| byte == b'\n') {
            let mut line: Vec<u8> = self.bytes.drain(..=self.scanned + end).collect();
            line.pop();
            self.scanned = 0;
            return Ok(Some(line));
        }
        self.scanned = self.bytes.len();
        if self.bytes.len() > MAX_LINE { Err(WireError::TooLong) } else { Ok(None) }
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

/// The answer to one request.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) ok: Option<Value>,
    #[serde(default)]
    pub(crate) error: Option<RemoteError>,
    /// What the time went into, as the other side says: for the log, and for nothing else.
    #[serde(default)]
    within: Value,
}

impl Answer {
    pub(crate) fn read<T: DeserializeOwned>(self) -> Result<T, WireError> {
        if let Some(error) = self.error {
            return Err(WireError::Refused(error));
        }
        let value = self.ok.ok_or_else(|| WireError::Malformed("neither ok nor error".into()))?;
        serde_json::from_value(value).map_err(|error| WireError::Malformed(error.to_string()))
    }
}

/// One request as a line.
pub(crate) fn request_line(id: u64, op: &str, mut body: Map<String, Value>) -> Vec<u8> {
    body.insert("id".into(), id.into());
    body.insert("op".into(), op.into());
    let mut line = Value::Object(body).to_string().into_bytes();
    line.push(b'\n');
    line
}

/// A conversation with one process, one request at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: UnixStream,
    buffer: LineBuffer,
    next_id: u64,
}

impl Connection {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, buffer: LineBuffer::default(), next_id: 1 }
    }

    /// Waits until the other side has closed the connection; whether it did within `limit`. What it
    /// still says is not read.
    pub(crate) async fn closed(&mut self, limit: Duration) -> bool {
        let mut unread = [0; 1024];
        let end = async { while let Ok(1..) = self.stream.read(&mut unread).await {} };
        timeout(limit, end).await.is_ok()
    }

    /// Sends `op` with `body`, an object, and waits for its answer.
    pub(crate) async fn request<T: DeserializeOwned>(
        &mut self,
        op: &str,
        body: Value,
        limit: Duration,
    ) -> Result<T, WireError> {
        let Value::Object(body) = body else {
            return Err(WireError::Malformed("a request must be an object".into()));
        };
        let id = self.next_id;
        self.next_id += 1;
        let exchange = async {
            match self.stream.write_all(&request_line(id, op, body)).await {
                Ok(()) => {}
                Err(error) if is_disconnect(&error) => return Err(WireError::Closed),
                Err(error) => return Err(error.into()),
            }
            loop {
                let line = self.next_line().await?;
                let answer: Answer = serde_json::from_slice(&line)
                    .map_err(|error| WireError::Malformed(error.to_string()))?;
                // An answer to an earlier request that timed out is not this one's.
                if answer.id == id {
                    return Ok(answer);
                }
                if answer.id > id {
                    return Err(WireError::Malformed(format!("answered request {}", answer.id)));
                }
            }
        };
        let started = Instant::now();
        let answer = timeout(limit, exchange).await.map_err(|_| WireError::TimedOut(limit))??;
        let ms = started.elapsed().as_secs_f64() * 1e3;
        tracing::debug!(op, ms, within = %answer.within, "answered");
        answer.read()
    }

    async fn next_line(&mut self) -> Result<Vec<u8>, WireError> {
        loop {
            if let Some(line) = self.buffer.take_line()? {
                return Ok(line);
            }
            let mut chunk = [0; 16 * 1024];
            let count = match self.stream.read(&mut chunk).await {
                Ok(count) => count,
                Err(error) if is_disconnect(&error) => 0,
                Err(error) => return Err(error.into()),
            };
            if count == 0 {
                return Err(WireError::Closed);
            }
            self.buffer.extend(&chunk[..count]);
        }
    }
}

fn is_disconnect(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, BufReader};

    use super::*;

    /// A peer that answers every request with `answer` in place of `ID`.
    async fn talk(answer: &'static str) -> Result<Value, WireError> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let peer = tokio::spawn(async move {
            let mut theirs = BufReader::new(theirs);
            let mut line = String::new();
            theirs.read_line(&mut line).await.unwrap();
            let request: Value = serde_json::from_str(&line).unwrap();
            let text = answer.replace("ID", &request["id"].to_string());
            theirs.write_all(text.as_bytes()).await.unwrap();
        });
        let result =
            Connection::new(ours).request("hello", json!({}), Duration::from_secs(5)).await;
        peer.await.unwrap();
        result
    }

    #[tokio::test]
    async fn an_answer_reaches_its_request_past_a_late_one() {
        let ok = talk("{\"id\":0,\"ok\":1}\n{\"id\":ID,\"ok\":{\"pid\":7}}\n").await.unwrap();
        assert_eq!(ok, json!({"pid": 7}));
    }

    #[tokio::test]
    async fn whatever_the_other_side_writes_is_an_error_and_no_more() {
        assert!(matches!(talk("").await, Err(WireError::Closed)));
        assert!(matches!(talk("PASS\n").await, Err(WireError::Malformed(_))));
        assert!(matches!(talk("{\"id\":99,\"ok\":1}\n").await, Err(WireError::Malformed(_))));
        assert!(matches!(talk("{\"id\":ID}\n").await, Err(WireError::Malformed(_))));
        let refused =
            talk("{\"id\":ID,\"error\":{\"kind\":\"import\",\"message\":\"no\"}}\n").await;
        assert!(matches!(refused, Err(WireError::Refused(error)) if error.kind == "import"));
    }

    #[test]
    fn a_line_without_end_is_cut_off() {
        let mut buffer = LineBuffer::default();
        buffer.extend(&vec![b'x'; MAX_LINE + 1]);
        assert!(matches!(buffer.take_line(), Err(WireError::TooLong)));
    }
}
