//! The files of an output folder.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::{Report, html, json, markdown, patch};

/// The target's source at its best: the winner's, or as it stood.
pub const BEST: &str = "best.py";
/// From the input to the winner; only when there is one.
pub const PATCH: &str = "best.patch";
pub const MARKDOWN: &str = "report.md";
pub const HTML: &str = "report.html";
pub const JSON: &str = "report.json";

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write {}: {source}; `kernelbrain report` writes it again once there is room and permission", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the report cannot be rendered: {0}")]
    Render(String),
}

/// Writes all files of `report` into `folder`, each whole or not at all, and removes a patch that
/// an earlier run left where this one has none. The winner's source comes first: should the disk
/// fill up, it is what matters.
pub fn write(report: &Report, folder: &Path) -> Result<(), WriteError> {
    let best = report.best_source.as_deref();
    put(folder, BEST, best.unwrap_or(&report.baseline_source))?;
    match best {
        Some(best) => {
            let patch = patch::unified(&report.target.source, &report.baseline_source, best);
            put(folder, PATCH, &patch)?;
        }
        None => remove(&folder.join(PATCH))?,
    }
    let failed = |error: &dyn std::fmt::Display| WriteError::Render(error.to_string());
    put(folder, JSON, &json::render(report).map_err(|error| failed(&error))?)?;
    put(folder, MARKDOWN, &markdown::render(report).map_err(|error| failed(&error))?)?;
    put(folder, HTML, &html::render(report).map_err(|error| failed(&error))?)
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), WriteError> {
    let path = folder.join(name);
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .permissions(permissions())
            .tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(&path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|source| WriteError::File { path: path.clone(), source })
}

/// Readable by others, as far as the process's mask allows: reports are made to be shared.
fn permissions() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

fn remove(path: &Path) -> Result<(), WriteError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(WriteError::File { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
