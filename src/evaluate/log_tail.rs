//! The end of what a process printed: evidence for error messages, and nothing more.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::io::{AsyncRead, AsyncReadExt};

const KEPT: usize = 8 * 1024;

/// Keeps the last bytes of a process's standard output and error.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogTail(Arc<Mutex<VecDeque<u8>>>);

impl LogTail {
    /// Reads `stream` to its end in the background, so that a chatty process never blocks.
    pub(crate) fn drain(&self, mut stream: impl AsyncRead + Unpin + Send + 'static) {
        let tail = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut chunk = [0; 8 * 1024];
            while let Ok(count @ 1..) = stream.read(&mut chunk).await {
                let mut kept = tail.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&chunk[..count]);
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
        });
    }

    /// The last `lines` lines, control characters removed.
    pub(crate) fn last_lines(&self, lines: usize) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
