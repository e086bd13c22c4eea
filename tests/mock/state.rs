//! What this GitHub knows. Plain data; the rules are in `world.rs` (people) and `api/` (the bot).

use std::collections::BTreeMap;
use std::path::PathBuf;

use git2::{Oid, Repository as Git};
use serde_json::Value;

/// What somebody may do in a repository, as the settings page names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl Permission {
    pub fn role(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The older, coarser word of the API: maintain reads as write, triage as read.
    pub fn coarse(self) -> &'static str {
        match self {
            Self::Triage => "read",
            Self::Maintain => "write",
            other => other.role(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct User {
    pub id: u64,
    pub login: String,
    pub bot: bool,
}

#[derive(Debug)]
pub struct Repository {
    pub id: u64,
    pub owner: String,
    pub name: String,
    pub private: bool,
    pub default_branch: String,
    pub fork_of: Option<u64>,
    pub folder: PathBuf,
    pub permissions: BTreeMap<String, Permission>,
    pub pulls: BTreeMap<u64, Pull>,
    /// Answer to a draft pull request where the plan has none: 422.
    pub refuses_drafts: bool,
}

impl Repository {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    pub fn git(&self) -> Git {
        Git::open_bare(&self.folder).unwrap()
    }

    pub fn branch(&self, name: &str) -> Option<Oid> {
        self.git().refname_to_id(&format!("refs/heads/{name}")).ok()
    }

    pub fn permission_of(&self, login: &str) -> Permission {
        let outsider = if self.private { Permission::None } else { Permission::Read };
        match self.permissions.get(login) {
            Some(given) => *given,
            None if login == self.owner => Permission::Admin,
            None => outsider,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Pull {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: String,
    pub base_ref: String,
    pub base_sha: Oid,
    pub head_repository: Option<u64>,
    pub head_ref: String,
    pub head_sha: Oid,
    pub draft: bool,
    pub open: bool,
    pub merged: bool,
    pub locked: bool,
    pub labels: Vec<String>,
    pub reactions: Vec<Reaction>,
    pub created: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    pub id: u64,
    pub content: String,
    pub author: String,
}

#[derive(Debug, Clone)]
pub struct Comment {
    pub id: u64,
    pub repository: u64,
    pub number: u64,
    pub author: String,
    pub body: String,
    pub created: u64,
    pub updated: u64,
    pub minimized: Option<String>,
    pub reactions: Vec<Reaction>,
}

#[derive(Debug, Clone)]
pub struct Review {
    pub id: u64,
    pub repository: u64,
    pub number: u64,
    pub author: String,
    pub body: String,
    /// As the API spells it in answers: COMMENTED, APPROVED, CHANGES_REQUESTED or PENDING.
    pub state: String,
    pub commit: Oid,
    pub created: u64,
    pub minimized: Option<String>,
}

#[derive(Debug, Clone)]
pub struct ReviewComment {
    pub id: u64,
    pub repository: u64,
    pub number: u64,
    pub review: u64,
    pub author: String,
    pub body: String,
    pub path: String,
    pub commit: Oid,
    pub line: u32,
    pub start_line: Option<u32>,
    pub side: String,
    pub hunk: String,
    pub created: u64,
    pub minimized: Option<String>,
}

#[derive(Debug, Clone)]
pub struct CheckRun {
    pub id: u64,
    pub repository: u64,
    pub suite: u64,
    pub name: String,
    pub head_sha: String,
    pub external_id: String,
    pub details_url: Option<String>,
    pub status: String,
    pub conclusion: Option<String>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub actions: Vec<Value>,
    pub annotations: usize,
    pub started: u64,
    pub completed: Option<u64>,
    /// What it showed, state after state, as text.
    pub history: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Installation {
    pub id: u64,
    pub account: String,
    pub repositories: Vec<u64>,
    pub permissions: BTreeMap<String, String>,
    pub suspended: bool,
}

#[derive(Debug, Clone)]
pub struct Token {
    pub text: String,
    pub installation: u64,
    /// None: every repository of the installation.
    pub repositories: Option<Vec<u64>>,
    pub permissions: BTreeMap<String, String>,
    pub expires: u64,
}

/// Something the bot did that others can see.
#[derive(Debug, Clone)]
pub struct Write {
    pub what: String,
    pub read: bool,
}

/// One request, as the log keeps it.
#[derive(Debug, Clone)]
pub struct Logged {
    pub method: String,
    pub path: String,
    pub body: String,
    pub status: u16,
}
