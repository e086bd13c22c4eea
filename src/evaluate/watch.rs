//! Watches the memory and the number of processes of every child. Resource limits of the kernel
//! do not do it: `RLIMIT_NPROC` does not bind root, and `RLIMIT_AS` breaks CUDA.

use std::{
    collections::HashMap,
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};

const INTERVAL: Duration = Duration::from_millis(150);

/// What a child and its descendants may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Resident memory of all of them, bytes.
    pub memory_bytes: u64,
    /// Processes, the child included.
    pub processes: usize,
}

/// The watcher: one task for all children.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<Mutex<HashMap<i32, Watched>>>);

#[derive(Debug)]
struct Watched {
    quota: Quota,
    excess: Option<String>,
}

/// Ends the watch over a child when dropped.
#[derive(Debug)]
pub(crate) struct WatchGuard {
    watch: Watch,
    pid: i32,
}

impl Watch {
    /// Starts the task; it ends when nothing holds the watch any more.
    pub(crate) fn start() -> Self {
        let watch = Self::default();
        let weak = Arc::downgrade(&watch.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(INTERVAL).await;
                let Some(watched) = weak.upgrade() else { return };
                Self(watched).enforce();
            }
        });
        watch
    }

    pub(crate) fn over(&self, pid: i32, quota: Quota) -> WatchGuard {
        self.lock().insert(pid, Watched { quota, excess: None });
        WatchGuard { watch: self.clone(), pid }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i32, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enforce(&self) {
        let mut watched = self.lock();
        if watched.is_empty() {
            return;
        }
        let processes = Process::all();
        for (&pid, entry) in watched.iter_mut().filter(|(_, entry)| entry.excess.is_none()) {
            let family = descendants(pid, &processes);
            let quota = entry.quota;
            let excess = if family.len() > quota.processes {
                format!(
                    "ran {} processes at once, more than the {} a candidate may start",
                    family.len(),
                    quota.processes
                )
            } else if let Some(memory) = memory_above(&family, quota.memory_bytes) {
                format!(
                    "used {:.1} GiB of memory, more than the {:.1} GiB a candidate may use",
                    gib(memory),
                    gib(quota.memory_bytes)
                )
            } else {
                continue;
            };
            entry.excess = Some(excess);
            for process in family {
                if let Some(pid) = Pid::from_raw(process.pid) {
                    // One that has ended in this moment needs no killing.
                    kill_process(pid, Signal::KILL).ok();
                }
            }
        }
    }
}

impl WatchGuard {
    /// Why the watcher killed the child, if it did.
    pub(crate) fn excess(&self) -> Option<String> {
        self.watch.lock().get(&self.pid).and_then(|entry| entry.excess.clone())
    }
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.watch.lock().remove(&self.pid);
    }
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

#[derive(Clone, Copy, Debug)]
struct Process {
    pid: i32,
    parent: i32,
    session: i32,
    resident_bytes: u64,
}

impl Process {
    fn all() -> Vec<Self> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(Self::read)
            .collect()
    }

    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold blanks and parentheses; what follows the last one does not.
        let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let pages: u64 = fields.nth(17)?.parse().ok()?;
        let page = rustix::param::page_size() as u64;
        Some(Self { pid, parent, session, resident_bytes: pages * page })
    }

    /// Its proportional set size: a page that n processes share counts an nth. Nothing for one
    /// that has ended since it was listed; its resident size where the share is not to be had.
    fn share_bytes(&self) -> u64 {
        let share = |text: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
        };
        match fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)) {
            Ok(text) => share(&text).unwrap_or(self.resident_bytes),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT | Errno::SRCH) => 0,
                _ => self.resident_bytes,
            },
        }
    }
}

/// What the processes hold together, if it is more than `limit`. Forks share most of their pages,
/// so that the sum of their resident sizes is only the most it can be; the exact count walks page
/// tables, and is made where it matters.
fn memory_above(family: &[Process], limit: u64) -> Option<u64> {
    let at_most: u64 = family.iter().map(|process| process.resident_bytes).sum();
    if at_most <= limit {
        return None;
    }
    let held = family.iter().map(Process::share_bytes).sum();
    (held > limit).then_some(held)
}

/// A process, all below it, and all of its session (what lost its parent stays in that).
fn descendants(root: i32, processes: &[Process]) -> Vec<Process> {
    let mut family: Vec<Process> =
        processes.iter().filter(|p| p.pid == root || p.session == root).copied().collect();
    let mut next = 0;
    while next < family.len() {
        let parent = family[next].pid;
        for process in processes.iter().filter(|process| process.parent == parent) {
            if !family.iter().any(|known| known.pid == process.pid) {
                family.push(*process);
            }
        }
        next += 1;
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_with_its_memory_and_its_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        let family = descendants(me, &Process::all());
        let found = family.iter().any(|p| p.pid == i32::try_from(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
        let own = family.iter().find(|p| p.pid == me).unwrap();
        assert!(own.resident_bytes > 1 << 20, "{own:?}");
        let share = own.share_bytes();
        assert!(share > 1 << 20, "{share} of {own:?}");
    }
}
