//! Everything there is in this GitHub.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use git2::Oid;
use serde_json::Value;
use tempfile::TempDir;

use super::faults::Faults;
use super::git;
use super::state::{
    CheckRun, Comment, Installation, Logged, Permission, Pull, Reaction, Repository, Review,
    ReviewComment, Token, User, Write,
};
use super::webhook::Hooks;

#[derive(Debug)]
pub struct World {
    /// Base of the REST API, prefix included.
    pub api: String,
    /// Base of pages and of git.
    pub site: String,
    pub prefix: String,
    pub folder: TempDir,
    pub start: u64,
    /// How far this GitHub's clock is ahead of the machine's, in seconds.
    pub ahead_s: i64,
    pub app_id: u64,
    pub app_slug: String,
    pub users: BTreeMap<String, User>,
    pub repositories: Vec<Repository>,
    pub comments: Vec<Comment>,
    pub reviews: Vec<Review>,
    pub review_comments: Vec<ReviewComment>,
    pub checks: Vec<CheckRun>,
    pub installations: Vec<Installation>,
    pub tokens: Vec<Token>,
    pub hooks: Hooks,
    pub faults: Faults,
    pub log: Vec<Logged>,
    pub writes: Vec<Write>,
    next_id: u64,
    commits: i64,
}

/// What the App may do unless a test says otherwise.
pub const APP_PERMISSIONS: [(&str, &str); 5] = [
    ("checks", "write"),
    ("contents", "write"),
    ("issues", "write"),
    ("metadata", "read"),
    ("pull_requests", "write"),
];

impl World {
    pub fn new(site: String, prefix: &str) -> Self {
        let mut world = Self {
            api: format!("{site}{prefix}"),
            site,
            prefix: prefix.to_owned(),
            folder: TempDir::new().unwrap(),
            start: seconds_now(),
            ahead_s: 0,
            app_id: 1234,
            app_slug: "kernelbrain".into(),
            users: BTreeMap::new(),
            repositories: Vec::new(),
            comments: Vec::new(),
            reviews: Vec::new(),
            review_comments: Vec::new(),
            checks: Vec::new(),
            installations: Vec::new(),
            tokens: Vec::new(),
            hooks: Hooks::new(),
            faults: Faults::default(),
            log: Vec::new(),
            writes: Vec::new(),
            next_id: 1000,
            commits: 0,
        };
        let bot = world.bot();
        world.user(&bot);
        world
    }

    pub fn now(&self) -> u64 {
        seconds_now().saturating_add_signed(self.ahead_s)
    }

    /// Login of whatever the App does.
    pub fn bot(&self) -> String {
        format!("{}[bot]", self.app_slug)
    }

    pub fn id(&mut self) -> u64 {
        self.next_id += 7;
        self.next_id
    }

    /// Makes the user if there is none of that name.
    pub fn user(&mut self, login: &str) {
        if !self.users.contains_key(login) {
            let user =
                User { id: self.id(), login: login.to_owned(), bot: login.ends_with("[bot]") };
            self.users.insert(login.to_owned(), user);
        }
    }

    pub fn by_id(&self, id: u64) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.id == id)
    }

    pub fn by_id_mut(&mut self, id: u64) -> &mut Repository {
        self.repositories.iter_mut().find(|repository| repository.id == id).unwrap()
    }

    pub fn by_name(&self, owner: &str, name: &str) -> Option<&Repository> {
        self.repositories.iter().find(|repository| {
            repository.owner.eq_ignore_ascii_case(owner)
                && repository.name.eq_ignore_ascii_case(name)
        })
    }

    pub fn pull(&self, repository: u64, number: u64) -> Option<&Pull> {
        self.by_id(repository)?.pulls.get(&number)
    }

    pub fn comments_of(&self, repository: u64, number: u64) -> impl Iterator<Item = &Comment> {
        self.comments
            .iter()
            .filter(move |comment| comment.repository == repository && comment.number == number)
    }

    pub fn create_repository(&mut self, owner: &str, name: &str, fork_of: Option<u64>) -> u64 {
        self.user(owner);
        let id = self.id();
        let folder = self.folder.path().join(format!("{id}.git"));
        let git = git2::Repository::init_bare(&folder).unwrap();
        git.set_head("refs/heads/main").unwrap();
        let mut default_branch = "main".to_owned();
        if let Some(parent) = fork_of.and_then(|id| self.by_id(id)) {
            default_branch.clone_from(&parent.default_branch);
            // As on GitHub, a repository and its forks share one store of objects.
            std::fs::remove_dir_all(folder.join("objects")).unwrap();
            std::os::unix::fs::symlink(parent.folder.join("objects"), folder.join("objects"))
                .unwrap();
            let git = git2::Repository::open_bare(&folder).unwrap();
            for reference in parent.git().references_glob("refs/heads/*").unwrap().flatten() {
                let (name, id) = (reference.name().unwrap(), reference.target().unwrap());
                git.reference(name, id, true, "fork").unwrap();
            }
        }
        self.repositories.push(Repository {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            private: false,
            default_branch,
            fork_of,
            folder,
            permissions: BTreeMap::new(),
            pulls: BTreeMap::new(),
            refuses_drafts: false,
        });
        id
    }

    /// Installs the App on a repository; one installation an account.
    pub fn install(&mut self, repository: u64) -> u64 {
        let account = self.by_id(repository).unwrap().owner.clone();
        let at = match self.installations.iter().position(|one| one.account == account) {
            Some(at) => at,
            None => {
                let id = self.id();
                let permissions =
                    APP_PERMISSIONS.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
                self.installations.push(Installation {
                    id,
                    account,
                    repositories: Vec::new(),
                    permissions: permissions.collect(),
                    suspended: false,
                });
                self.installations.len() - 1
            }
        };
        self.installations[at].repositories.push(repository);
        self.installations[at].id
    }

    pub fn installation_of(&self, repository: u64) -> Option<&Installation> {
        self.installations.iter().find(|one| one.repositories.contains(&repository))
    }

    /// Commits have times a second apart from a fixed start, so that their SHAs repeat.
    pub fn commit_time(&mut self) -> i64 {
        self.commits += 1;
        1_700_000_000 + self.commits
    }

    pub fn commit(
        &mut self,
        repository: u64,
        parent: Option<Oid>,
        files: &[(&str, Option<&[u8]>)],
        author: &str,
        message: &str,
    ) -> Oid {
        let seconds = self.commit_time();
        let git = self.by_id(repository).unwrap().git();
        git::commit(&git, parent, files, author, message, seconds)
    }

    /// Whether the file a review comment stands on has changed since.
    pub fn outdated(&self, comment: &ReviewComment) -> bool {
        let Some(pull) = self.pull(comment.repository, comment.number) else { return true };
        let git = self.by_id(comment.repository).unwrap().git();
        git::file(&git, comment.commit, &comment.path)
            != git::file(&git, pull.head_sha, &comment.path)
    }

    /// Adds a reaction; the same one twice is one.
    pub fn react(
        &mut self,
        reactions: &[Reaction],
        content: &str,
        author: &str,
    ) -> (Reaction, bool) {
        let same = |one: &&Reaction| one.content == content && one.author == author;
        if let Some(there) = reactions.iter().find(same) {
            return (there.clone(), false);
        }
        let made =
            Reaction { id: self.id(), content: content.to_owned(), author: author.to_owned() };
        (made, true)
    }

    pub fn wrote(&mut self, what: impl Into<String>) {
        self.writes.push(Write { what: what.into(), read: false });
    }

    pub fn set_permission(&mut self, repository: u64, login: &str, permission: Permission) {
        self.user(login);
        self.by_id_mut(repository).permissions.insert(login.to_owned(), permission);
    }
}

pub fn merge(into: &mut Value, extra: Value) {
    if let (Some(into), Value::Object(extra)) = (into.as_object_mut(), extra) {
        into.extend(extra);
    }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
