//! The cached bare repository, and reading from it.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use git2::{ObjectType, Oid, Repository, RepositoryInitOptions};

use super::names;
use super::{RepoError, Sha};

/// How often somebody who waits for the lock looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Regular files, as a tree entry marks them (group-writable is a relic of old histories).
pub(super) const FILE_MODES: [i32; 3] = [0o100_644, 0o100_755, 0o100_664];

/// A bare repository in a cache folder, one for each GitHub repository; forks' commits come through
/// their base repository. Several processes may read it while one fetches.
#[derive(Debug, Clone)]
pub struct Mirror {
    folder: PathBuf,
}

/// The right to fetch; given back when dropped, or when the process ends in whatever way.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Removes a folder, if there is one.
fn remove(folder: &Path) -> Result<(), RepoError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(RepoError::at(folder)(error))
        }
        _ => Ok(()),
    }
}

impl Mirror {
    /// The mirror of the repository with that id (ids outlive renames) in `cache`, made if needed.
    pub fn open(cache: &Path, repository_id: u64) -> Result<Self, RepoError> {
        let mirror = Self { folder: cache.join(format!("{repository_id}.git")) };
        fs::create_dir_all(cache).map_err(RepoError::at(cache))?;
        if mirror.git().is_err() {
            let _lock = mirror.lock(Duration::from_secs(60), &AtomicBool::new(false))?;
            mirror.make()?;
        }
        mirror.git()?;
        Ok(mirror)
    }

    /// Makes an empty one, all or nothing: whoever is killed half-way must not leave what nobody can use.
    fn make(&self) -> Result<(), RepoError> {
        // Somebody was faster.
        if self.git().is_ok() {
            return Ok(());
        }
        let fresh = self.folder.with_extension("new");
        remove(&fresh)?;
        // Without the user's templates, hooks could come with them.
        let mut options = RepositoryInitOptions::new();
        options.bare(true).external_template(false);
        Repository::init_opts(&fresh, &options)?;
        remove(&self.folder)?;
        fs::rename(&fresh, &self.folder).map_err(RepoError::at(&self.folder))
    }

    /// Whether the commit is here with all its files.
    pub fn has(&self, sha: &Sha) -> Result<bool, RepoError> {
        Ok(self.kept()?.contains(sha) && self.git()?.find_commit(sha.oid()?).is_ok())
    }

    /// The bytes of a regular file in a commit; None if there is none of that path, or something
    /// else (a folder, a symbolic link, a submodule).
    pub fn read(
        &self,
        sha: &Sha,
        path: &str,
        at_most_bytes: u64,
    ) -> Result<Option<Vec<u8>>, RepoError> {
        let git = self.git()?;
        let tree = self.tree(&git, sha)?;
        let entry = match tree.get_path(Path::new(path)) {
            Ok(entry) => entry,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !FILE_MODES.contains(&entry.filemode_raw()) {
            return Ok(None);
        }
        let odb = git.odb()?;
        let (size, kind) = odb.read_header(entry.id())?;
        if kind != ObjectType::Blob {
            return Ok(None);
        }
        if size as u64 > at_most_bytes {
            let (path, limit) = (path.to_owned(), at_most_bytes);
            return Err(RepoError::FileTooLarge { path, size: size as u64, limit });
        }
        Ok(Some(odb.read(entry.id())?.data().to_vec()))
    }

    /// Paths of all regular files of a commit in the tree's order, those with names that
    /// [`check_out`](Self::check_out) leaves out excepted.
    pub fn tree_paths(&self, sha: &Sha, at_most: usize) -> Result<Vec<String>, RepoError> {
        let git = self.git()?;
        let mut paths = Vec::new();
        let mut seen = 0;
        let mut open = vec![(self.tree(&git, sha)?.id(), String::new())];
        while let Some((tree, below)) = open.pop() {
            for entry in &git.find_tree(tree)? {
                seen += 1;
                if seen > at_most {
                    return Err(RepoError::TooManyFiles { limit: at_most });
                }
                let Ok(name) = entry.name() else { continue };
                if !names::harmless(name.as_bytes()) {
                    continue;
                }
                let path = format!("{below}{name}");
                if path.len() > names::LONGEST_PATH {
                    continue;
                }
                if entry.kind() == Some(ObjectType::Tree) {
                    open.push((entry.id(), format!("{path}/")));
                } else if FILE_MODES.contains(&entry.filemode_raw()) {
                    paths.push(path);
                }
            }
        }
        paths.sort_unstable();
        Ok(paths)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn git(&self) -> Result<Repository, RepoError> {
        Ok(Repository::open_bare(&self.folder)?)
    }

    /// The tree of a commit that was fetched whole.
    pub(super) fn tree<'a>(
        &self,
        git: &'a Repository,
        sha: &Sha,
    ) -> Result<git2::Tree<'a>, RepoError> {
        if !self.has(sha)? {
            return Err(RepoError::Missing(sha.clone()));
        }
        Ok(git.find_commit(sha.oid()?)?.tree()?)
    }

    /// Waits for the right to fetch, so that two processes do not do it at once.
    pub(super) fn lock(&self, patience: Duration, stop: &AtomicBool) -> Result<Lock, RepoError> {
        let path = self.folder.with_extension("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(RepoError::at(&path))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock(file)),
                Err(TryLockError::Error(source)) => return Err(RepoError::File { path, source }),
                Err(TryLockError::WouldBlock) => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Err(RepoError::Stopped);
            }
            if started.elapsed() >= patience {
                return Err(RepoError::TimedOut(patience));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn shallow_file(&self) -> PathBuf {
        self.folder.join("shallow")
    }

    /// Commits that are here whole, oldest first. Git's own file of commits without parents is the
    /// list: every commit here is one.
    pub(super) fn kept(&self) -> Result<Vec<Sha>, RepoError> {
        let path = self.shallow_file();
        match fs::read_to_string(&path) {
            Ok(text) => text.lines().map(str::parse).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(RepoError::File { path, source }),
        }
    }

    /// Adds to the list, all or nothing.
    pub(super) fn keep(&self, new: &[Sha]) -> Result<(), RepoError> {
        let mut kept = self.kept()?;
        kept.retain(|sha| !new.contains(sha));
        kept.extend_from_slice(new);
        let path = self.shallow_file();
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            for sha in &kept {
                writeln!(file, "{sha}")?;
            }
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)
        };
        write().map(|_| ()).map_err(RepoError::at(&path))
    }

    /// Whether every file and folder of a commit is here.
    pub(super) fn complete(&self, sha: &Sha) -> Result<bool, RepoError> {
        let git = self.git()?;
        let odb = git.odb()?;
        let Ok(commit) = git.find_commit(sha.oid()?) else { return Ok(false) };
        // Each object once: a tree can name the same subtree many times over.
        let mut seen: HashSet<Oid> = HashSet::new();
        let mut open = vec![commit.tree_id()];
        while let Some(id) = open.pop() {
            let Ok(tree) = git.find_tree(id) else { return Ok(false) };
            for entry in &tree {
                if entry.kind() == Some(ObjectType::Commit) || !seen.insert(entry.id()) {
                    continue;
                }
                if entry.kind() == Some(ObjectType::Tree) {
                    open.push(entry.id());
                } else if !odb.exists(entry.id()) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
