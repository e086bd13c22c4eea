//! One process at a time writes to an output folder, and so drives the run that writes there.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use super::StoreError;

/// Its content is the owner's process id, for the message that a second process shows.
const FILE: &str = ".kernelbrain.lock";

/// Holds an output folder until it is dropped, or until the process dies however it dies: the lock
/// is the kernel's, on an open file. The file itself stays, because removing it would let two
/// processes each lock a file of that name.
#[derive(Debug)]
pub struct OutputLock {
    folder: PathBuf,
    _file: File,
}

impl OutputLock {
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Takes the output folder, creating it where it is missing. [`StoreError::OutputInUse`] names the
/// process that has it.
pub fn lock_output(folder: &Path) -> Result<OutputLock, StoreError> {
    let failed = |source| StoreError::Folder { folder: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        // Whoever made the folder could have put a link to any file there.
        .custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0))
        .open(folder.join(FILE))
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            let pid = file.read_to_string(&mut owner).ok().and_then(|_| owner.trim().parse().ok());
            return Err(StoreError::OutputInUse { folder: folder.to_owned(), pid });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    file.set_len(0).map_err(failed)?;
    file.rewind().map_err(failed)?;
    writeln!(file, "{}", std::process::id()).map_err(failed)?;
    Ok(OutputLock { folder: folder.to_owned(), _file: file })
}
