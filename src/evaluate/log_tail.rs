//! The end of what a process printed: evidence for error messages, and nothing more.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::watch,
    time::timeout,
};

const KEPT: usize = 8 * 1024;

/// How long an ended process's words may be under way. Others may hold its output open for longer.
const WORDS_UNDER_WAY: Duration = Duration::from_secs(1);

/// Keeps the last bytes of a process's standard output and error.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogTail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// How many streams have not been read to their end.
    open: watch::Sender<usize>,
}

impl LogTail {
    /// Reads `stream` to its end in the background, so that a chatty process never blocks.
    pub(crate) fn drain(&self, mut stream: impl AsyncRead + Unpin + Send + 'static) {
        let tail = self.clone();
        tail.open.send_modify(|open| *open += 1);
        tokio::spawn(async move {
            let mut chunk = [0; 8 * 1024];
            while let Ok(count @ 1..) = stream.read(&mut chunk).await {
                let mut kept = tail.kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&chunk[..count]);
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
            tail.open.send_modify(|open| *open -= 1);
        });
    }

    /// The last `lines` lines of a process that has ended, which may have spoken a moment ago.
    pub(crate) async fn final_lines(&self, lines: usize) -> String {
        let mut open = self.open.subscribe();
        timeout(WORDS_UNDER_WAY, open.wait_for(|open| *open == 0)).await.ok();
        self.last_lines(lines)
    }

    /// The last `lines` lines so far, control characters removed.
    pub(crate) fn last_lines(&self, lines: usize) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let mut last: Vec<String> = text
            .lines()
            .rev()
            .filter(|line| !line.trim().is_empty())
            .take(lines)
            .map(|line| line.chars().filter(|c| !c.is_control() || *c == '\t').collect())
            .collect();
        last.reverse();
        last.join("\n")
    }
}

#[cfg(test)]
mod tests;
