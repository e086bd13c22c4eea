//! A work tree of one commit, made as if an enemy had written the tree: it can name any file, link
//! anywhere, and be larger than any disk.
//!
//! Everything is planned before anything is written, so that a tree over the limits leaves an empty
//! folder; links are made last, so that no file is ever written through one.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::Path;

use git2::{ObjectType, Odb, Oid, Repository};

use super::links::Links;
use super::mirror::FILE_MODES;
use super::names;
use super::{Mirror, RepoError, Sha};

/// How large a work tree may become.
#[derive(Debug, Clone, Copy)]
pub struct CheckoutLimits {
    /// Files, links and folders.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Default for CheckoutLimits {
    fn default() -> Self {
        Self { files: 50_000, bytes: 2 << 30 }
    }
}

/// What a work tree lacks of the commit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CheckedOut {
    pub left_out: Vec<LeftOut>,
}

/// Something of the tree that is not in the folder, or not as its author sees it.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub path: String,
    pub why: WhyLeftOut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WhyLeftOut {
    #[error("a name that could reach out of the folder or into a .git")]
    Name,
    #[error("a path too long")]
    TooLong,
    #[error("a symbolic link that leads out of the repository, or in circles")]
    LinkOutside,
    #[error("a submodule")]
    Submodule,
    #[error("another entry of the same path came first")]
    Twice,
    /// The pointer is in the folder; the file it stands for is not.
    #[error("a Git LFS pointer; the file itself is not fetched")]
    LfsPointer,
    #[error("neither a file, a folder, a link nor a submodule")]
    UnknownKind,
}

/// Longest target of a link.
const LONGEST_TARGET: usize = 4096;
/// Pointers are shorter than this.
const LONGEST_POINTER: usize = 1024;
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

impl Mirror {
    /// Writes exactly the tree of a commit into an empty folder: regular files with their executable
    /// bit, and symbolic links that stay inside. No filters, attributes, hooks, submodules, large
    /// files of LFS; no `.git`.
    pub fn check_out(
        &self,
        sha: &Sha,
        folder: &Path,
        limits: CheckoutLimits,
    ) -> Result<CheckedOut, RepoError> {
        let empty = fs::read_dir(folder).map_err(RepoError::at(folder))?.next().is_none();
        if !empty {
            return Err(RepoError::NotEmpty(folder.to_owned()));
        }
        let git = self.git()?;
        let root = self.tree(&git, sha)?.id();
        let mut plan = Plan::of(&git, root, limits)?;
        plan.write(&git.odb()?, folder)?;
        plan.left_out.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(CheckedOut { left_out: plan.left_out })
    }
}

struct PlannedFile {
    path: Vec<u8>,
    id: Oid,
    executable: bool,
}

#[derive(Default)]
struct Plan {
    folders: Vec<Vec<u8>>,
    files: Vec<PlannedFile>,
    links: Vec<(Vec<u8>, Vec<u8>)>,
    left_out: Vec<LeftOut>,
}

impl Plan {
    fn of(git: &Repository, root: Oid, limits: CheckoutLimits) -> Result<Self, RepoError> {
        let mut plan = Self::default();
        let odb = git.odb()?;
        let (mut entries, mut bytes) = (0, 0_u64);
        let mut links = Vec::new();
        let mut open = vec![(root, Vec::new())];
        while let Some((tree, below)) = open.pop() {
            for entry in &git.find_tree(tree)? {
                entries += 1;
                if entries > limits.files {
                    return Err(RepoError::TooManyFiles { limit: limits.files });
                }
                let name = entry.name_bytes();
                let path = if below.is_empty() {
                    name.to_vec()
                } else {
                    [below.as_slice(), name].join(&b'/')
                };
                if !names::harmless(name) {
                    plan.leave_out(&path, WhyLeftOut::Name);
                    continue;
                }
                if path.len() > names::LONGEST_PATH {
                    plan.leave_out(&path, WhyLeftOut::TooLong);
                    continue;
                }
                match (entry.filemode_raw(), entry.kind()) {
                    (_, Some(ObjectType::Tree)) => {
                        plan.folders.push(path.clone());
                        open.push((entry.id(), path));
                    }
                    (_, Some(ObjectType::Commit)) => plan.leave_out(&path, WhyLeftOut::Submodule),
                    (mode, Some(ObjectType::Blob)) if FILE_MODES.contains(&mode) => {
                        bytes = bytes.saturating_add(odb.read_header(entry.id())?.0 as u64);
                        if bytes > limits.bytes {
                            let (path, limit) = (shown(&path), limits.bytes);
                            return Err(RepoError::TooManyBytes { path, limit });
                        }
                        let executable = mode == 0o100_755;
                        plan.files.push(PlannedFile { path, id: entry.id(), executable });
                    }
                    (0o120_000, Some(ObjectType::Blob)) => links.push((path, entry.id())),
                    _ => plan.leave_out(&path, WhyLeftOut::UnknownKind),
                }
            }
        }
        plan.judge_links(&odb, links)?;
        Ok(plan)
    }

    fn judge_links(&mut self, odb: &Odb<'_>, found: Vec<(Vec<u8>, Oid)>) -> Result<(), RepoError> {
        let mut links = Links::default();
        for (path, id) in &found {
            let target = if odb.read_header(*id)?.0 <= LONGEST_TARGET {
                odb.read(*id)?.data().to_vec()
            } else {
                Vec::new()
            };
            links.add(path.clone(), target.clone());
            self.links.push((path.clone(), target));
        }
        let all = std::mem::take(&mut self.links);
        for (path, target) in all {
            if links.stays_inside(&path) && !target.contains(&0) {
                self.links.push((path, target));
            } else {
                self.leave_out(&path, WhyLeftOut::LinkOutside);
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &[u8], why: WhyLeftOut) {
        self.left_out.push(LeftOut { path: shown(path), why });
    }

    fn write(&mut self, odb: &Odb<'_>, root: &Path) -> Result<(), RepoError> {
        for path in std::mem::take(&mut self.folders) {
            let made = DirBuilder::new().mode(0o755).create(below(root, &path));
            self.made(&path, made)?;
        }
        for file in std::mem::take(&mut self.files) {
            let blob = odb.read(file.id)?;
            let place = below(root, &file.path);
            let made = File::options()
                .write(true)
                .create_new(true)
                .mode(if file.executable { 0o755 } else { 0o644 })
                .open(&place);
            if let Some(mut made) = self.made(&file.path, made)? {
                made.write_all(blob.data()).map_err(RepoError::at(&place))?;
                if blob.len() < LONGEST_POINTER && blob.data().starts_with(POINTER) {
                    self.leave_out(&file.path, WhyLeftOut::LfsPointer);
                }
            }
        }
        for (path, target) in std::mem::take(&mut self.links) {
            let made = symlink(OsStr::from_bytes(&target), below(root, &path));
            self.made(&path, made)?;
        }
        Ok(())
    }

    /// None where something else of the tree has the place already, which only a tree made by hand
    /// can bring about.
    fn made<T>(&mut self, path: &[u8], made: std::io::Result<T>) -> Result<Option<T>, RepoError> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error)
                if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotADirectory) =>
            {
                self.leave_out(path, WhyLeftOut::Twice);
                Ok(None)
            }
            Err(source) => Err(RepoError::File { path: OsStr::from_bytes(path).into(), source }),
        }
    }
}

fn below(root: &Path, path: &[u8]) -> std::path::PathBuf {
    root.join(OsStr::from_bytes(path))
}

fn shown(path: &[u8]) -> String {
    super::error::printable(&String::from_utf8_lossy(path))
}
