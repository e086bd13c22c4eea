//! An open-loop sender over plain sockets: as little work as possible, since it shares the machine with
//! the service.

use std::{
    net::SocketAddr,
    rc::Rc,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::LocalSet,
};

use super::payload::Timetable;

/// Deliveries that may be under way at once. Beyond it one waits, and its time counts while it does.
const CONNECTIONS: usize = 256;
/// GitHub waits this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of a delivery.
pub(super) struct Answered {
    pub(super) id: String,
    /// `None` where no answer came.
    pub(super) status: Option<u16>,
    /// Since it was due.
    pub(super) after: Duration,
}

/// Sends everything when it is due.
pub(super) async fn send(address: SocketAddr, timetable: &Timetable) -> Vec<Answered> {
    let local = LocalSet::new();
    let shared = Rc::new((timetable.clone(), AtomicUsize::new(0)));
    let mut senders = Vec::new();
    // Time to connect before the first is due.
    let begin = Instant::now() + Duration::from_millis(500);
    for _ in 0..CONNECTIONS {
        let shared = Rc::clone(&shared);
        senders.push(local.spawn_local(async move {
            let (timetable, next) = &*shared;
            let mut answers = Vec::new();
            let mut stream = connect(address).await;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= timetable.len() {
                    return answers;
                }
                let due = begin + timetable.due(number);
                tokio::time::sleep_until(due.into()).await;
                let (id, request) = timetable.request(number);
                let exchange = exchange(&mut stream, &request);
                let status = tokio::time::timeout(PATIENCE, exchange).await.ok().flatten();
                answers.push(Answered { id, status, after: due.elapsed() });
                if status.is_none() {
                    stream = connect(address).await;
                }
            }
        }));
    }
    local
        .run_until(async {
            let mut all = Vec::new();
            for sender in senders {
                all.extend(sender.await.expect("a sender ends"));
            }
            all
        })
        .await
}

async fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.expect("the service takes connections");
    stream.set_nodelay(true).expect("a socket has options");
    stream
}

/// Sends a request; the status of its answer, `None` where the connection failed.
async fn exchange(stream: &mut TcpStream, request: &[u8]) -> Option<u16> {
    stream.write_all(request).await.ok()?;
    let mut answer = Vec::with_capacity(512);
    loop {
        if stream.read_buf(&mut answer).await.ok()? == 0 {
            return None;
        }
        if let Some(status) = complete(&answer) {
            return Some(status);
        }
    }
}

/// The status, once the whole of an answer is there.
fn complete(answer: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    (body.len() >= length.parse().ok()?).then(|| head.split(' ').nth(1)?.parse().ok())?
}
