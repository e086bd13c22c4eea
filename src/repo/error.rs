//! What can go wrong between a remote repository and a folder of files.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Sha;

/// Texts never hold a token: they are made of what is listed here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepoError {
    #[error("{0:?} is not a commit: give all 40 lowercase hexadecimal digits of its SHA")]
    NotASha(String),
    #[error("{path}: {source}; check that the folder is writable and its disk not full", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("git: {0}")]
    Git(String),
    #[error(
        "{0:?} is no address to fetch from: use https://HOST/OWNER/NAME.git, without user or password"
    )]
    Address(String),
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("{host} did not accept the token (401): it is wrong or has expired; get a new one")]
    Unauthorised { host: String },
    #[error(
        "{host} answered {status}: the token does not reach this repository or lacks `contents: read`"
    )]
    Forbidden { host: String, status: u16 },
    #[error("{host} answered {status} instead of a pack; try again later")]
    Status { host: String, status: u16 },
    #[error("{from} sends to another host, {to}; fetch from that address if you trust it")]
    Redirected { from: String, to: String },
    #[error("{host} does not speak git's protocol: {why}")]
    Protocol { host: String, why: String },
    #[error("the remote says: {0}")]
    Remote(String),
    #[error("the pack is larger than the {limit} bytes allowed; raise the limit of a fetch")]
    PackTooLarge { limit: u64 },
    #[error("not done within {} s; raise the time of a fetch or look at the connection", .0.as_secs())]
    TimedOut(Duration),
    #[error("stopped")]
    Stopped,
    #[error("commit {0} is not in the mirror; fetch it first")]
    Missing(Sha),
    #[error("the remote has sent a pack without all of commit {0}; it may be damaged there")]
    Incomplete(Sha),
    #[error("{path} has {size} bytes, more than the {limit} allowed")]
    FileTooLarge { path: String, size: u64, limit: u64 },
    #[error("the tree has more than the {limit} files and folders allowed")]
    TooManyFiles { limit: usize },
    #[error("the tree has more than the {limit} bytes allowed, {path} is one file too many")]
    TooManyBytes { path: String, limit: u64 },
    #[error("{} is not an empty folder; give one that is", .0.display())]
    NotEmpty(PathBuf),
}

impl From<git2::Error> for RepoError {
    fn from(error: git2::Error) -> Self {
        Self::Git(printable(error.message()))
    }
}

impl RepoError {
    /// Whether the same call may succeed later without anybody doing something.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Status { .. } | Self::TimedOut(_))
    }

    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// Text of somebody else's, short and on one line.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
