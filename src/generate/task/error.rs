//! Why a task file is not taken.

use std::{io, path::PathBuf};

/// What is wrong with a task file, and where.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// Not TOML, an unknown key, or a value that is none.
    #[error("{file}, line {line}: {reason}")]
    Invalid { file: String, line: usize, reason: String },
    #[error("{}: {source}; give a folder of task files (NAME.toml) that can be read", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A folder without a task would change nothing, in silence.
    #[error("{}: no task file (NAME.toml) is in it", .0.display())]
    NoTask(PathBuf),
}
