//! The Python side, embedded in the binary so that one file to install is enough.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/evaluate/harness");

/// The pinned Python packages, in pip's requirements format.
pub const REQUIREMENTS: &str = include_str!("harness/requirements.txt");

/// Writes the harness under `folder` and returns the folder that holds `referee.py` and
/// `zygote.py`.
pub(crate) fn unpack(folder: &Path) -> io::Result<PathBuf> {
    let root = folder.join("harness");
    write(&FILES, &root)?;
    Ok(root)
}

fn write(dir: &Dir<'_>, root: &Path) -> io::Result<()> {
    fs::create_dir_all(root.join(dir.path()))?;
    for file in dir.files().filter(|file| file.path().extension().is_some_and(|e| e == "py")) {
        fs::write(root.join(file.path()), file.contents())?;
    }
    dir.dirs().try_for_each(|inner| write(inner, root))
}
