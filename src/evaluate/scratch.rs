//! Scratch folders: named after the process that made them, so that those of a process that was
//! killed can be told and removed.

use std::{fs, path::Path};

const PREFIX: &str = "kernelbrain-scratch-";

/// The beginning of this process's folder names.
pub(super) fn prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

/// Removes what processes that are gone have left in `folder`.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let Some(owner) = owner.and_then(|owner| owner.parse::<u32>().ok()) else { continue };
        if entry.path().is_dir() && !Path::new(&format!("/proc/{owner}")).exists() {
            // Somebody else's, or being removed by another process: then it is not for this one.
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_removed_and_those_of_the_living_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let dead = folder.path().join(format!("{PREFIX}{}-x", child.id()));
        let living = folder.path().join(format!("{}y", prefix()));
        let other = folder.path().join("kernelbrain-notes");
        for path in [&dead, &living, &other] {
            fs::create_dir(path).unwrap();
        }
        sweep(folder.path());
        assert!(!dead.exists() && living.exists() && other.exists());
    }
}
