//! What can go wrong with an evaluation plane that is not a candidate's fault.

use std::{fmt, io, path::PathBuf};

use super::wire::WireError;

/// A fault of the contract, the machine or the plane itself.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The contract cannot be used as it is.
    #[error("{}{reason}", position(.file.as_deref(), *.line))]
    Contract { reason: String, file: Option<String>, line: Option<u32> },
    /// A case does not fit the device.
    #[error("{reason}")]
    OutOfMemory { reason: String },
    /// The device is not there, or torch cannot use it.
    #[error("{reason}")]
    Device { reason: String },
    /// The sandbox cannot be had in full.
    #[error(
        "this machine cannot confine candidate code completely: {}. Run on a kernel with Landlock, \
         or accept it with --sandbox best-effort",
        .missing.join("; ")
    )]
    Sandbox { missing: Vec<String> },
    /// A process of the plane ended, hung or broke the protocol.
    #[error("{what}: {error}{}", log_excerpt(.log))]
    Process {
        what: String,
        error: Box<WireError>,
        log: String,
        /// Which one cannot be used any more; `None` if none or if that does not matter.
        lost: Option<Lost>,
    },
    /// A process was replaced so often that another one would not help.
    #[error(
        "{part} was lost {times} times in this run; the last time, {last}. If the contract or the          driver is at fault, `kernelbrain audit` and `kernelbrain doctor` show it"
    )]
    Unstable { part: Part, times: u32, last: String },
    #[error("cannot start {}: {source}", .program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Scratch { path: PathBuf, source: io::Error },
}

/// A process of the plane that can be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Referee,
    Zygote,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Referee => "the referee",
            Self::Zygote => "the zygote",
        })
    }
}

/// One process of the plane that is gone or no longer to be trusted: the `generation`-th of its
/// kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    pub part: Part,
    pub generation: u32,
}

impl EvaluateError {
    /// The plane is being taken down.
    pub(super) fn closed() -> Self {
        Self::Process {
            what: "the evaluation plane".into(),
            error: Box::new(WireError::Closed),
            log: String::new(),
            lost: None,
        }
    }

    /// The process that has to be replaced before anything can be evaluated again.
    pub(crate) fn lost(&self) -> Option<Lost> {
        match self {
            Self::Process { lost, .. } => *lost,
            _ => None,
        }
    }
}

fn position(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        _ => String::new(),
    }
}

fn log_excerpt(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; its last output:\n{log}") }
}
