//! Memory and disk that processes hold without a trace in their own sizes: files that only a
//! descriptor leads to, and what lies in a folder.

use std::{collections::HashSet, fs, os::unix::fs::MetadataExt, path::Path};

/// A file takes up more than its bytes: an entry and an inode.
const LEAST_BYTES_OF_A_FILE: u64 = 4096;
/// Unit of a file's `blocks`, whatever the file system's own is.
const BLOCK: u64 = 512;

/// What open descriptors hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// In files that exist in memory only (`memfd_create`).
    pub(super) memory_bytes: u64,
    /// In files whose last name was removed.
    pub(super) disk_bytes: u64,
}

impl Held {
    /// By these processes together; a file that several have open counts once.
    pub(super) fn by(processes: impl Iterator<Item = i32>) -> Self {
        let (mut held, mut seen) = (Self::default(), HashSet::new());
        for pid in processes {
            let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
            for descriptor in descriptors.flatten() {
                // Follows the link, which leads to the file even where its path leads nowhere.
                let Ok(file) = fs::metadata(descriptor.path()) else { continue };
                if !file.is_file() || file.nlink() > 0 || !seen.insert((file.dev(), file.ino())) {
                    continue;
                }
                let bytes = file.blocks() * BLOCK;
                match fs::read_link(descriptor.path()) {
                    Ok(name) if name.to_string_lossy().starts_with("/memfd:") => {
                        held.memory_bytes += bytes;
                    }
                    _ => held.disk_bytes += bytes,
                }
            }
        }
        held
    }
}

/// Bytes on disk of everything in `folder`; where that is more than `enough`, as much as was
/// counted until then.
pub(super) fn folder_bytes(folder: &Path, enough: u64) -> u64 {
    let (mut sum, mut folders) = (0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            // Of a link itself, not of what it leads to.
            let Ok(metadata) = entry.metadata() else { continue };
            sum += (metadata.blocks() * BLOCK).max(LEAST_BYTES_OF_A_FILE);
            if sum > enough {
                return sum;
            }
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::fd::OwnedFd};

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn memory_behind_a_descriptor_and_a_file_without_a_name_are_seen_once() {
        let me = i32::try_from(std::process::id()).unwrap();
        let before = Held::by([me].into_iter());
        let memory: OwnedFd = memfd_create("hidden", MemfdFlags::empty()).unwrap();
        let mut memory = fs::File::from(memory);
        memory.write_all(&vec![1; 3 << 20]).unwrap();
        let mut nameless = tempfile::tempfile().unwrap();
        nameless.write_all(&vec![1; 2 << 20]).unwrap();
        let _again = nameless.try_clone().unwrap();
        let held = Held::by([me, me].into_iter());
        assert_eq!(held.memory_bytes - before.memory_bytes, 3 << 20);
        // A file system may keep a little more than what was written.
        let disk = held.disk_bytes - before.disk_bytes;
        assert!((2 << 20..3 << 20).contains(&disk), "{disk}");
    }

    #[test]
    fn a_folder_is_counted_to_its_depths_and_no_further_than_needed() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("large"), vec![1; 1 << 20]).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
        let whole = folder_bytes(folder.path(), u64::MAX);
        assert!((1 << 20..2 << 20).contains(&whole), "{whole}");
        for number in 0..100 {
            fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        let empty_files = folder_bytes(folder.path(), u64::MAX) - whole;
        assert!(empty_files >= 100 * LEAST_BYTES_OF_A_FILE, "{empty_files}");
        assert!(folder_bytes(folder.path(), 50_000) < 200_000);
    }
}
