//! What can go wrong with an evaluation plane that is not a candidate's fault.

use std::{io, path::PathBuf};

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
    Process { what: String, error: Box<WireError>, log: String },
    #[error("cannot start {}: {source}", .program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Scratch { path: PathBuf, source: io::Error },
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
