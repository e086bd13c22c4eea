//! The last gate: the repository's own tests pass on the winner, in a copy of the checkout.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use tokio::{io::AsyncReadExt, time::timeout};

use super::{error::EvaluateError, plane::Plane};
use crate::kernel::{Candidate, Gate, Rejection};

/// Longest that a repository's tests may take.
const LIMIT: Duration = Duration::from_secs(900);

impl Plane {
    /// Runs the target's test command with `candidate` in place; `None` where there is none. The
    /// checkout itself is never written.
    pub(super) async fn run_repository_tests(
        &self,
        candidate: &Candidate,
    ) -> Result<Option<Result<String, Rejection>>, EvaluateError> {
        let target = &self.config.target;
        let (Some(command), Some(package)) = (&target.tests, &target.package) else {
            return Ok(None);
        };
        if command.is_empty() {
            return Ok(None);
        }
        let scratch = self.scratch().join("repository-tests");
        let checkout = scratch.join("checkout");
        let inside = |path: &Path| {
            path.strip_prefix(&package.repository).map(|p| checkout.join(p)).unwrap_or_default()
        };
        let prepared = copy_tree(&package.repository, &checkout)
            .and_then(|()| fs::write(inside(&target.source), candidate.source.as_bytes()));
        prepared.map_err(|source| EvaluateError::Scratch { path: checkout.clone(), source })?;

        let _turn = self.turn.take().await;
        let started = Instant::now();
        let import_root = inside(&package.import_root);
        let process =
            self.starter().repository_tests(command, &checkout, &scratch, &import_root)?;
        let outcome = run(process, command).await;
        fs::remove_dir_all(&scratch).ok();
        Ok(Some(outcome.map(|()| {
            let seconds = started.elapsed().as_secs_f64();
            format!("the repository's tests passed on it (`{}`, {seconds:.1} s)", command.join(" "))
        })))
    }
}

async fn run(mut command: tokio::process::Command, words: &[String]) -> Result<(), Rejection> {
    let reject =
        |why: String| Rejection::new(Gate::RepositoryTests, format!("`{}` {why}", words.join(" ")));
    command.kill_on_drop(true);
    let mut process =
        command.spawn().map_err(|error| reject(format!("does not start: {error}")))?;
    let (mut stdout, mut stderr) = (process.stdout.take(), process.stderr.take());
    let printed = async {
        // Both at once: a full pipe would block the tests for ever.
        tokio::join!(tail(stdout.as_mut()), tail(stderr.as_mut()))
    };
    let finished = timeout(LIMIT, async { tokio::join!(process.wait(), printed) }).await;
    let Ok((status, (stdout, stderr))) = finished else {
        process.kill().await.ok();
        return Err(reject(format!("did not end within {} s", LIMIT.as_secs())));
    };
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let output = if stderr.trim().is_empty() { stdout } else { stderr };
            let lines: Vec<&str> = output.lines().rev().take(5).collect();
            let end: Vec<&str> = lines.into_iter().rev().collect();
            Err(reject(format!("failed ({status}): {}", end.join(" / "))))
        }
        Err(error) => Err(reject(format!("could not be waited for: {error}"))),
    }
}

/// Reads to the end and keeps the last 8 KiB.
async fn tail<R: tokio::io::AsyncRead + Unpin>(stream: Option<&mut R>) -> String {
    let Some(stream) = stream else { return String::new() };
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0; 8 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..count]);
        let excess = kept.len().saturating_sub(8 * 1024);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// Copies files, folders and links as they are; leaves out what tests do not need.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, name) = (entry.path(), entry.file_name());
        let left_out = [".git", "target", "node_modules", "__pycache__", ".venv", "venv"];
        if left_out.iter().any(|folder| name == *folder) {
            continue;
        }
        let goal = to.join(&name);
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &goal)?;
        } else if kind.is_dir() {
            copy_tree(&source, &goal)?;
        } else if kind.is_file() {
            fs::copy(&source, &goal)?;
        }
    }
    Ok(())
}
