//! Git behind the API: commits, trees, and what GitHub's diffs are made of.

use std::path::Path;

use git2::{
    Delta, Diff, DiffFindOptions, DiffOptions, Oid, Patch, Repository as Git, Signature, Time,
};

/// A commit on top of `parent` with `files` added, replaced, or (None) removed.
pub fn commit(
    git: &Git,
    parent: Option<Oid>,
    files: &[(&str, Option<&[u8]>)],
    author: &str,
    message: &str,
    seconds: i64,
) -> Oid {
    let parent = parent.map(|id| git.find_commit(id).unwrap());
    let tree = {
        let mut index = git2::Index::new().unwrap();
        if let Some(parent) = &parent {
            index.read_tree(&parent.tree().unwrap()).unwrap();
        }
        for (path, contents) in files {
            match contents {
                Some(contents) => {
                    let id = git.blob(contents).unwrap();
                    index.add(&index_entry(path, id)).unwrap();
                }
                None => index.remove_path(Path::new(path)).unwrap(),
            }
        }
        index.write_tree_to(git).unwrap()
    };
    commit_tree(git, tree, parent.iter().map(git2::Commit::id).collect(), author, message, seconds)
}

pub fn commit_tree(
    git: &Git,
    tree: Oid,
    parents: Vec<Oid>,
    author: &str,
    message: &str,
    seconds: i64,
) -> Oid {
    let who =
        Signature::new(author, &format!("{author}@users.noreply.example"), &Time::new(seconds, 0))
            .unwrap();
    let tree = git.find_tree(tree).unwrap();
    let parents: Vec<_> = parents.into_iter().map(|id| git.find_commit(id).unwrap()).collect();
    git.commit(None, &who, &who, message, &tree, &parents.iter().collect::<Vec<_>>()).unwrap()
}

fn index_entry(path: &str, id: Oid) -> git2::IndexEntry {
    let none = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: none,
        mtime: none,
        dev: 0,
        ino: 0,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// The bytes of a file in a commit.
pub fn file(git: &Git, commit: Oid, path: &str) -> Option<Vec<u8>> {
    let tree = git.find_commit(commit).ok()?.tree().ok()?;
    let entry = tree.get_path(Path::new(path)).ok()?;
    git.find_blob(entry.id()).ok().map(|blob| blob.content().to_vec())
}

/// What a pull request shows: from the merge base to the head, three lines of context.
pub fn pull_diff(git: &Git, base: Oid, head: Oid) -> Diff<'_> {
    let from = git.merge_base(base, head).ok().map(|id| tree(git, id));
    let mut options = DiffOptions::new();
    options.context_lines(3);
    let mut diff =
        git.diff_tree_to_tree(from.as_ref(), Some(&tree(git, head)), Some(&mut options)).unwrap();
    diff.find_similar(Some(DiffFindOptions::new().renames(true))).unwrap();
    diff
}

fn tree(git: &Git, commit: Oid) -> git2::Tree<'_> {
    git.find_commit(commit).unwrap().tree().unwrap()
}

/// The whole diff as `git diff` prints it.
pub fn unified(diff: &Diff<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    diff.print(git2::DiffFormat::Patch, |_, _, line| {
        if matches!(line.origin(), '+' | '-' | ' ') {
            out.push(line.origin() as u8);
        }
        out.extend_from_slice(line.content());
        true
    })
    .unwrap();
    out
}

/// One file of a diff.
#[derive(Debug, Clone)]
pub struct ChangedFile {
    pub path: String,
    pub before: Option<String>,
    pub status: &'static str,
    pub blob: Oid,
    pub additions: usize,
    pub deletions: usize,
    pub hunks: Vec<Hunk>,
}

impl ChangedFile {
    /// The `patch` of the API: hunks only, no file header; None for a binary file.
    pub fn patch(&self) -> Option<String> {
        let text: Vec<&str> = self.hunks.iter().map(|hunk| hunk.text.as_str()).collect();
        (!text.is_empty()).then(|| text.concat().trim_end_matches('\n').to_owned())
    }
}

/// A hunk and the lines a comment may stand on.
#[derive(Debug, Clone)]
pub struct Hunk {
    pub text: String,
    pub right: Vec<u32>,
    pub left: Vec<u32>,
}

pub fn changed_files(diff: &Diff<'_>) -> Vec<ChangedFile> {
    let mut files = Vec::new();
    for at in 0..diff.deltas().len() {
        let delta = diff.get_delta(at).unwrap();
        let path_of = |file: git2::DiffFile<'_>| {
            String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned()
        };
        let status = match delta.status() {
            Delta::Added => "added",
            Delta::Deleted => "removed",
            Delta::Renamed => "renamed",
            _ => "modified",
        };
        let (new, old) = (delta.new_file(), delta.old_file());
        let blob = if status == "removed" { old.id() } else { new.id() };
        let mut file = ChangedFile {
            path: path_of(if status == "removed" { old } else { new }),
            before: (status == "renamed").then(|| path_of(delta.old_file())),
            status,
            blob,
            additions: 0,
            deletions: 0,
            hunks: Vec::new(),
        };
        if let Some(patch) = Patch::from_diff(diff, at).unwrap() {
            (_, file.additions, file.deletions) = patch.line_stats().unwrap();
            file.hunks = (0..patch.num_hunks()).map(|hunk| read_hunk(&patch, hunk)).collect();
        }
        files.push(file);
    }
    files
}

fn read_hunk(patch: &Patch<'_>, at: usize) -> Hunk {
    let header = patch.hunk(at).unwrap().0;
    let mut text = String::from_utf8_lossy(header.header()).into_owned();
    let (mut right, mut left) = (Vec::new(), Vec::new());
    for line in 0..patch.num_lines_in_hunk(at).unwrap() {
        let line = patch.line_in_hunk(at, line).unwrap();
        if matches!(line.origin(), '+' | '-' | ' ') {
            text.push(line.origin());
            right.extend(line.new_lineno());
            left.extend(line.old_lineno());
        }
        text.push_str(&String::from_utf8_lossy(line.content()));
    }
    Hunk { text, right, left }
}
