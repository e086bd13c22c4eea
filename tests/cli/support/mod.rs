//! What the end-to-end tests share: a desk with two files on it, the binary, and what must hold
//! whatever the binary was given.

mod journal;
mod processes;
mod run;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{OnceLock, atomic::AtomicUsize},
};

use serde_json::Value;

pub(crate) use journal::{events, intact};
pub(crate) use processes::orphans;
pub(crate) use run::{Ran, Running};

/// A softmax that reads its row three times, in tiles so small that there is something to gain.
pub(crate) const SOFTMAX: &str = include_str!("softmax_kernel.py");
/// Two cases that take the interpreter tenths of a second.
pub(crate) const SOFTMAX_CONTRACT: &str = include_str!("softmax_contract.py");
/// One case that takes it milliseconds.
pub(crate) const TINY_CONTRACT: &str = include_str!("tiny_contract.py");

/// A folder with a kernel and its contract. Everything that a run writes stays in it: output,
/// database, temporary files, home.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
    /// Processes that are at work here.
    at_work: AtomicUsize,
}

impl Desk {
    pub(crate) fn new(kernel: impl AsRef<[u8]>, contract: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("desk-").tempdir().unwrap();
        let desk = Self { folder, at_work: AtomicUsize::new(0) };
        for name in ["tmp", "home"] {
            std::fs::create_dir(desk.path(name)).unwrap();
        }
        desk.write("kernel.py", kernel);
        desk.write("test.py", contract);
        desk
    }

    /// Two cases, and a kernel that can be made a good deal faster.
    pub(crate) fn softmax() -> Self {
        Self::new(SOFTMAX, SOFTMAX_CONTRACT)
    }

    /// One tiny case, and the same kernel.
    pub(crate) fn tiny() -> Self {
        Self::new(SOFTMAX, TINY_CONTRACT)
    }

    /// A right kernel that also does something at its import and in its calls: Python statements.
    pub(crate) fn tiny_with(at_import: &str, in_call: &str) -> Self {
        let indented = in_call.replace('\n', "\n    ");
        let honest = SOFTMAX.replace("def kernel_function", "def _honest");
        let kernel = format!(
            "{honest}\n\n{at_import}\n\n\ndef kernel_function(x):\n    {indented}\n    return _honest(x)\n"
        );
        Self::new(kernel, TINY_CONTRACT)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The binary with `arguments`, at this desk.
    pub(crate) fn kernelbrain(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernelbrain"));
        command.args(arguments);
        self.seat(&mut command);
        command
    }

    /// Makes any command work at this desk.
    pub(crate) fn seat(&self, command: &mut Command) {
        command
            .current_dir(self.folder())
            .env("KERNELBRAIN_DB", self.path("runs.db"))
            .env("KERNELBRAIN_PYTHON", python())
            .env("TMPDIR", self.path("tmp"))
            .env("HOME", self.path("home"))
            .env_remove("XDG_DATA_HOME")
            .env_remove("KERNELBRAIN_LOG");
    }

    /// `optimize` of the desk's two files on the cpu, with further `arguments`.
    pub(crate) fn optimize(&self, arguments: &[&str]) -> Command {
        let mut all = vec!["optimize", "kernel.py", "--test", "test.py", "--device", "cpu"];
        all.extend(["--out", "out", "--plain"]);
        all.extend(arguments);
        self.kernelbrain(&all)
    }

    /// Starts a command; the answer is held against what must always hold.
    pub(crate) fn start(&self, command: Command) -> Running<'_> {
        Running::start(self, command)
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, command: Command) -> Ran {
        self.start(command).end()
    }

    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(&self.read("out/report.json")).unwrap()
    }

    /// Bodies of the journal's events of one kind, in order.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        events(&self.path("runs.db"), kind)
    }

    /// Text without what differs from one desk to the next.
    pub(crate) fn anonymous(&self, text: &str) -> String {
        let python = python().display().to_string();
        text.replace(&*self.folder().to_string_lossy(), "[desk]").replace(&python, "[python]")
    }
}

/// The interpreter that kernelbrain finds by itself here; desks have a home of their own.
pub(crate) fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        use kernelbrain::engine::machine;
        let named = machine::named_python(None);
        machine::find_python(named.as_deref()).unwrap().executable
    })
}
