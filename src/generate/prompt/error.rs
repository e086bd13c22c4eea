//! Why there is no prompt.

use std::{io, path::PathBuf};

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    #[error("template {file}, line {line}: {reason}")]
    Template { file: String, line: usize, reason: String },
    #[error("{}: {source}; give a folder of templates that can be read", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A file whose name is no template's would be ignored in silence.
    #[error("{}: there is no template of that name; the templates are {}", .path.display(), .known.join(", "))]
    UnknownTemplate { path: PathBuf, known: Vec<String> },
    #[error(
        "the prompt needs about {needed} tokens even without what may be left out, and {budget} are \
         allowed: allow more, or choose a smaller source file"
    )]
    TooLong { needed: usize, budget: usize },
}
