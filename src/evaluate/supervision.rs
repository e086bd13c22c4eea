//! Replaces processes of the plane that end, and decides whose fault that was.
//!
//! No candidate can signal or trace the zygote or the referee, but a driver, the kernel's memory
//! killer or a bug can end them. Evaluations that were under way then are repeated once, each with
//! nothing else running: a process that is lost again was lost by that candidate.

use std::{
    collections::HashMap,
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    error::{EvaluateError, Lost, Part},
    judge::Stop,
    plane::Plane,
};
use crate::kernel::{Gate, Rejection};

/// Replacements of one part in a plane's life. Past that something is wrong with the machine or
/// the contract, and going on would only hide it.
const MOST_REPLACEMENTS: u32 = 10;

/// How long the kernel may take to end a killed process.
const PATIENCE: Duration = Duration::from_secs(5);

/// What supervision remembers.
#[derive(Debug, Default)]
pub(super) struct Supervision {
    /// Evaluations hold it together; one that is repeated holds it alone.
    quarantine: RwLock<()>,
    replaced: Mutex<HashMap<Part, u32>>,
}

/// An attempt to evaluate a candidate, and a second one if a process of the plane is lost under it.
#[derive(Debug)]
pub(super) struct Trial<'p> {
    plane: &'p Plane,
    attempt: Attempt<'p>,
}

#[derive(Debug)]
enum Attempt<'p> {
    Together { _guard: RwLockReadGuard<'p, ()> },
    Alone { _guard: RwLockWriteGuard<'p, ()> },
    Over,
}

impl<'p> Trial<'p> {
    /// An attempt beside those of others.
    pub(super) async fn begin(plane: &'p Plane) -> Self {
        let _guard = plane.supervision.quarantine.read().await;
        Self { plane, attempt: Attempt::Together { _guard } }
    }

    /// What an attempt came to; `None` if it has to be made once more, now with nothing else
    /// running, because it lost a process, which has been replaced. Where that one is lost as well
    /// the candidate is rejected.
    pub(super) async fn settle<T>(&mut self, result: Result<T, Stop>) -> Option<Result<T, Stop>> {
        let Some((lost, error)) = loss(&result) else { return Some(result) };
        tracing::warn!(%error, "lost a process of the evaluation plane");
        match std::mem::replace(&mut self.attempt, Attempt::Over) {
            Attempt::Together { _guard } => {
                drop(_guard);
                let _guard = self.plane.supervision.quarantine.write().await;
                self.attempt = Attempt::Alone { _guard };
                let replaced = self.plane.replace(lost, &error).await;
                replaced.err().map(|fault| Err(fault.into()))
            }
            Attempt::Alone { .. } | Attempt::Over => {
                if let Err(fault) = self.plane.replace(lost, &error).await {
                    return Some(Err(fault.into()));
                }
                let reason = format!(
                    "{} ended while this candidate was evaluated, and again with nothing else \
                     running: {error}",
                    lost.part
                );
                Some(Err(Rejection::new(Gate::Build, reason).into()))
            }
        }
    }
}

impl Plane {
    /// Replaces a lost process, unless somebody has done so already.
    async fn replace(&self, lost: Lost, error: &str) -> Result<(), EvaluateError> {
        let current = match lost.part {
            Part::Referee => self.referee.lock().await.generation,
            Part::Zygote => self.zygote.read().await.generation,
        };
        if current != lost.generation {
            return Ok(());
        }
        self.count(lost.part, error)?;
        match lost.part {
            Part::Referee => self.replace_referee().await,
            Part::Zygote => self.replace_zygote().await,
        }
    }

    fn count(&self, part: Part, error: &str) -> Result<(), EvaluateError> {
        let mut replaced = self.supervision.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        let times = replaced.entry(part).or_default();
        *times += 1;
        if *times > MOST_REPLACEMENTS {
            return Err(EvaluateError::Unstable { part, times: *times, last: error.to_owned() });
        }
        Ok(())
    }
}

fn loss<T>(result: &Result<T, Stop>) -> Option<(Lost, String)> {
    match result {
        Err(Stop::Fault(error)) => error.lost().map(|lost| (lost, error.to_string())),
        _ => None,
    }
}

/// Kills every process that was started, or forked from one that was, with `home` as its home
/// folder: what a zygote that did not end by itself has left behind, whatever became its parent.
pub(super) async fn end_residents(home: &Path) {
    let begun = Instant::now();
    loop {
        let residents = residents(home);
        if residents.is_empty() || begun.elapsed() > PATIENCE {
            return;
        }
        for pid in residents {
            // One that has ended meanwhile needs no killing.
            kill_process(pid, Signal::KILL).ok();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn residents(home: &Path) -> Vec<Pid> {
    let variable = [b"HOME=", home.as_os_str().as_bytes()].concat();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid = entry.file_name().to_str()?.parse().ok()?;
            // What a process began with: it cannot change that, and a fork has it too.
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let lives_there = environment.split(|byte| *byte == 0).any(|entry| entry == variable);
            lives_there.then(|| Pid::from_raw(pid)).flatten()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_started_from_a_home_is_ended_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let start = |home: &Path| {
            let script = "setsid sleep 60 & sleep 60";
            let mut command = std::process::Command::new("sh");
            command.args(["-c", script]).env("HOME", home).spawn().unwrap()
        };
        let (mut theirs, mut others) = (start(folder.path()), start(Path::new("/elsewhere")));
        while residents(folder.path()).len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // They end as zombies that nobody waits for: those have no environment any more.
        end_residents(folder.path()).await;
        assert!(residents(folder.path()).is_empty());
        assert!(theirs.wait().unwrap().code().is_none());
        assert!(others.try_wait().unwrap().is_none());
        end_residents(Path::new("/elsewhere")).await;
        others.wait().unwrap();
    }
}
