//! Watches the memory, the files and the number of processes of every child. Resource limits of the
//! kernel do not do it: `RLIMIT_NPROC` does not bind root, `RLIMIT_AS` breaks CUDA, and
//! `RLIMIT_FSIZE` is for each file.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};

use super::held::{Held, folder_bytes};

const INTERVAL: Duration = Duration::from_millis(150);

/// What a child and its descendants may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Resident memory of all of them, bytes.
    pub memory_bytes: u64,
    /// Processes, the child included.
    pub processes: usize,
    /// What they write to disk, bytes: the scratch folder, and files that have no name any more.
    pub disk_bytes: u64,
}

/// The watcher: one task for all children.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<Mutex<HashMap<i32, Watched>>>);

#[derive(Debug)]
struct Watched {
    quota: Quota,
    scratch: PathBuf,
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
                // It reads files; a panic in it would end the watch, and is none of its business.
                tokio::task::spawn_blocking(move || Self(watched).enforce()).await.ok();
            }
        });
        watch
    }

    /// Watches over a child whose scratch folder is `scratch`.
    pub(crate) fn over(&self, pid: i32, scratch: &Path, quota: Quota) -> WatchGuard {
        let scratch = scratch.to_owned();
        self.lock().insert(pid, Watched { quota, scratch, excess: None });
        WatchGuard { watch: self.clone(), pid }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i32, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enforce(&self) {
        let sound = |watched: &HashMap<i32, Watched>| -> Vec<(i32, Quota, PathBuf)> {
            let sound = watched.iter().filter(|(_, entry)| entry.excess.is_none());
            sound.map(|(&pid, entry)| (pid, entry.quota, entry.scratch.clone())).collect()
        };
        // Whoever starts or ends a watch does not wait for the reading of files.
        let watched = sound(&self.lock());
        if watched.is_empty() {
            return;
        }
        let processes = Process::all();
        for (pid, quota, scratch) in watched {
            let family = descendants(pid, &processes);
            let Some(excess) = excess(&family, &scratch, quota) else { continue };
            let mut watched = self.lock();
            // Without an entry it is over by now, and its number may be another process's.
            let Some(entry) = watched.get_mut(&pid) else { continue };
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

/// What a child has too much of, in words.
fn excess(family: &[Process], scratch: &Path, quota: Quota) -> Option<String> {
    if family.len() > quota.processes {
        return Some(format!(
            "ran {} processes at once, more than the {} a candidate may start",
            family.len(),
            quota.processes
        ));
    }
    let held = Held::by(family.iter().map(|process| process.pid));
    if let Some(memory) = memory_above(family, held.memory_bytes, quota.memory_bytes) {
        return Some(format!(
            "used {:.1} GiB of memory, more than the {:.1} GiB a candidate may use",
            gib(memory),
            gib(quota.memory_bytes)
        ));
    }
    let disk = held.disk_bytes + folder_bytes(scratch, quota.disk_bytes);
    (disk > quota.disk_bytes).then(|| {
        format!(
            "wrote {:.1} GiB of files, more than the {:.1} GiB a candidate may keep",
            gib(disk),
            gib(quota.disk_bytes)
        )
    })
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
        match fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)) {
            Ok(text) => text.lines().find_map(share_of).unwrap_or(self.resident_bytes),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT | Errno::SRCH) => 0,
                _ => self.resident_bytes,
            },
        }
    }

    /// The part of that which belongs to files in memory.
    fn share_of_files_bytes(&self) -> u64 {
        let Ok(text) = fs::read_to_string(format!("/proc/{}/smaps", self.pid)) else { return 0 };
        let (mut in_file, mut sum) = (false, 0);
        for line in text.lines() {
            // Fields have a colon after their name; a mapping's own line begins with addresses.
            match line.split_whitespace().next() {
                Some(word) if word.ends_with(':') => {
                    sum += share_of(line).filter(|_| in_file).unwrap_or(0);
                }
                _ => in_file = line.contains("/memfd:"),
            }
        }
        sum
    }
}

/// The size in a line of `smaps` that tells a proportional set size.
fn share_of(line: &str) -> Option<u64> {
    let size = line.strip_prefix("Pss:")?.split_whitespace().next()?;
    size.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// What the processes hold together, if it is more than `limit`; `files_bytes` is what they hold in
/// files that exist in memory only, mapped or not. Forks share most of their pages, so that the sum
/// of their resident sizes is only the most it can be; the exact count walks page tables, and is
/// made where it matters.
fn memory_above(family: &[Process], files_bytes: u64, limit: u64) -> Option<u64> {
    let at_most: u64 = family.iter().map(|process| process.resident_bytes).sum();
    if at_most + files_bytes <= limit {
        return None;
    }
    let mapped = |process: &Process| match files_bytes {
        0 => 0,
        _ => process.share_of_files_bytes(),
    };
    let own: u64 = family.iter().map(|p| p.share_bytes().saturating_sub(mapped(p))).sum();
    let held = own + files_bytes;
    (held > limit).then_some(held)
}

/// Kills a process and all below it.
pub(crate) fn kill_family(root: i32) {
    // Twice, since one of them may have started another in between.
    for _ in 0..2 {
        for process in descendants(root, &Process::all()) {
            if let Some(pid) = Pid::from_raw(process.pid) {
                // One that has ended in this moment needs no killing.
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }
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
