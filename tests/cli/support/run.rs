//! One run of the binary, with what must hold of every one.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, atomic::Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;

use super::{Desk, intact, orphans};

/// Longer than any of these tests takes; a run that hangs fails its test instead of the suite.
const PATIENCE: Duration = Duration::from_secs(240);

/// A run that goes on.
pub(crate) struct Running<'d> {
    desk: &'d Desk,
    process: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<()>>,
    heard: Arc<Mutex<String>>,
}

/// A run that ended.
pub(crate) struct Ran {
    /// `None` when a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl<'d> Running<'d> {
    pub(crate) fn start(desk: &'d Desk, mut command: Command) -> Self {
        desk.at_work.fetch_add(1, Ordering::SeqCst);
        // A group of its own, as a shell gives it one: Ctrl-C reaches all of it.
        command.process_group(0).stdin(Stdio::null());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = process.stdout.take().unwrap();
        let err = process.stderr.take().unwrap();
        let heard = Arc::new(Mutex::new(String::new()));
        let listener = Arc::clone(&heard);
        let stdout = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            out.read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let stderr = std::thread::spawn(move || {
            for line in BufReader::new(err).split(b'\n') {
                let line = String::from_utf8_lossy(&line.unwrap()).into_owned();
                listener.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Self { desk, process, stdout: Some(stdout), stderr: Some(stderr), heard }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn heard(&self) -> String {
        self.heard.lock().unwrap().clone()
    }

    /// Waits until it says `words` on standard error.
    pub(crate) fn until(&mut self, words: &str) -> &mut Self {
        self.until_true(words, |running| running.heard().contains(words))
    }

    /// Waits until `holds`.
    pub(crate) fn until_true(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> &mut Self {
        let begun = Instant::now();
        while !holds(self) {
            let over = self.process.try_wait().unwrap().is_some();
            assert!(!over && begun.elapsed() < PATIENCE, "no {what:?} in {}", self.heard());
            std::thread::sleep(Duration::from_millis(10));
        }
        self
    }

    /// Whether it ended by itself.
    pub(crate) fn is_over(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    /// What Ctrl-C does: the terminal sends SIGINT to the whole group.
    pub(crate) fn ctrl_c(&mut self) -> &mut Self {
        let group = Pid::from_child(&self.process);
        kill_process_group(group, Signal::INT).unwrap();
        self
    }

    /// `kill -9`, of this process alone.
    pub(crate) fn kill(mut self) -> Ran {
        self.process.kill().unwrap();
        self.end()
    }

    /// Waits for its end, and holds it against what must hold of every run: it does not panic or
    /// show a Python traceback, leaves no process behind and a sound database.
    pub(crate) fn end(mut self) -> Ran {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                let heard = self.heard();
                self.process.kill().unwrap();
                panic!("does not end; so far:\n{heard}");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let left = orphans(self.desk.folder());
        assert!(left.is_empty(), "left behind: {left:#?}\n{}", self.heard());
        let stdout = self.stdout.take().unwrap().join().unwrap();
        self.stderr.take().unwrap().join().unwrap();
        let ran = Ran { status: status.code(), stdout, stderr: self.heard() };
        for sign in ["panicked at", "Traceback (most recent call last)", "RUST_BACKTRACE"] {
            assert!(!ran.stderr.contains(sign), "{}", ran.printed());
        }
        // A copy of the database is all of it, where nobody else is at work on it and nobody stopped the
        // process at once.
        let alone = self.desk.at_work.load(Ordering::SeqCst) == 1;
        let in_order = !matches!(ran.status, None | Some(130));
        let log = self.desk.path("runs.db-wal");
        assert!(!alone || !in_order || !log.exists(), "{}", ran.printed());
        let database = self.desk.path("runs.db");
        if std::fs::read(&database).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3\0")) {
            assert!(intact(&database), "{}", ran.printed());
        }
        ran
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // A failed assertion leaves nothing running.
        self.process.kill().ok();
        self.process.wait().ok();
        self.desk.at_work.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Ran {
    /// All of it, for the message of a failed assertion.
    pub(crate) fn printed(&self) -> String {
        let Self { status, stdout, stderr } = self;
        format!("status {status:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }

    pub(crate) fn exits_with(&self, status: i32) -> &Self {
        assert_eq!(self.status, Some(status), "{}", self.printed());
        self
    }

    /// Says `words`, wherever lines are broken.
    pub(crate) fn says(&self, words: &str) -> &Self {
        let flowing = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = flowing(&self.stderr) + &flowing(&self.stdout);
        assert!(said.contains(&flowing(words)), "no {words:?} in {}", self.printed());
        self
    }

    /// The one error that it ends with.
    pub(crate) fn error(&self) -> &str {
        let errors: Vec<&str> = self.stderr.split("error: ").collect();
        assert_eq!(errors.len(), 2, "{}", self.printed());
        errors[1].trim_end()
    }
}
