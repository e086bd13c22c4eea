//! Everything there is, and what follows from a change: whoever makes it, a person or the bot, the
//! same webhooks go out.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use git2::Oid;
use serde_json::{Value, json};
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

    /// A branch points somewhere new: pull requests follow, and webhooks tell.
    pub fn move_branch(&mut self, repository: u64, branch: &str, to: Oid, sender: &str) {
        let before = self.by_id(repository).unwrap().branch(branch);
        if before == Some(to) {
            return;
        }
        let git = self.by_id(repository).unwrap().git();
        git.reference(&format!("refs/heads/{branch}"), to, true, "push").unwrap();
        self.send(
            repository,
            "push",
            None,
            json!({
                "ref": format!("refs/heads/{branch}"),
                "before": before.unwrap_or(Oid::ZERO_SHA1).to_string(), "after": to.to_string(),
                "created": before.is_none(), "deleted": false, "forced": false, "base_ref": null,
                "commits": [], "head_commit": null,
                "pusher": { "name": sender, "email": null },
                "compare": format!("{}/compare", self.site),
            }),
            sender,
        );
        let followers: Vec<(u64, u64)> = self
            .repositories
            .iter()
            .flat_map(|base| base.pulls.values().map(move |pull| (base.id, pull)))
            .filter(|(_, pull)| {
                pull.open && pull.head_repository == Some(repository) && pull.head_ref == branch
            })
            .map(|(base, pull)| (base, pull.number))
            .collect();
        for (base, number) in followers {
            let base_ref = self.pull(base, number).unwrap().base_ref.clone();
            let base_sha = self.by_id(base).unwrap().branch(&base_ref);
            let pull = self.by_id_mut(base).pulls.get_mut(&number).unwrap();
            let was = pull.head_sha;
            pull.head_sha = to;
            pull.base_sha = base_sha.unwrap_or(pull.base_sha);
            self.point_pull(base, number, to);
            let extra = json!({ "before": was.to_string(), "after": to.to_string() });
            self.send_pull(base, number, "synchronize", extra, sender);
        }
    }

    fn point_pull(&self, repository: u64, number: u64, to: Oid) {
        let git = self.by_id(repository).unwrap().git();
        git.reference(&format!("refs/pull/{number}/head"), to, true, "pull").unwrap();
    }

    #[expect(clippy::too_many_arguments, reason = "as many as the form has fields")]
    pub fn open_pull(
        &mut self,
        repository: u64,
        author: &str,
        title: &str,
        body: &str,
        base_ref: &str,
        head: (u64, &str),
        draft: bool,
    ) -> u64 {
        let head_sha = self.by_id(head.0).unwrap().branch(head.1).expect("the head branch exists");
        let base = self.by_id(repository).unwrap();
        let base_sha = base.branch(base_ref).expect("the base branch exists");
        let number = base.pulls.len() as u64 + 1;
        self.user(author);
        let pull = Pull {
            id: self.id(),
            number,
            title: title.to_owned(),
            body: body.to_owned(),
            author: author.to_owned(),
            base_ref: base_ref.to_owned(),
            base_sha,
            head_repository: Some(head.0),
            head_ref: head.1.to_owned(),
            head_sha,
            draft,
            open: true,
            merged: false,
            locked: false,
            labels: Vec::new(),
            reactions: Vec::new(),
            created: self.now(),
        };
        self.id();
        self.by_id_mut(repository).pulls.insert(number, pull);
        self.point_pull(repository, number, head_sha);
        self.send_pull(repository, number, "opened", json!({}), author);
        number
    }

    pub fn set_label(&mut self, repository: u64, number: u64, label: &str, on: bool, sender: &str) {
        self.user(sender);
        let pull = self.by_id_mut(repository).pulls.get_mut(&number).unwrap();
        let had = pull.labels.iter().any(|one| one == label);
        if had == on {
            return;
        }
        pull.labels.retain(|one| one != label);
        if on {
            pull.labels.push(label.to_owned());
        }
        let label = self.label_json(self.by_id(repository).unwrap(), label);
        let action = if on { "labeled" } else { "unlabeled" };
        self.send_pull(repository, number, action, json!({ "label": label }), sender);
    }

    pub fn add_comment(&mut self, repository: u64, number: u64, author: &str, body: &str) -> u64 {
        self.user(author);
        let id = self.id();
        let now = self.now();
        self.comments.push(Comment {
            id,
            repository,
            number,
            author: author.to_owned(),
            body: body.to_owned(),
            created: now,
            updated: now,
            minimized: None,
            reactions: Vec::new(),
        });
        self.send_comment(id, "created", author);
        id
    }

    pub fn send_comment(&mut self, id: u64, action: &str, sender: &str) {
        let comment = self.comments.iter().find(|comment| comment.id == id).unwrap().clone();
        let repository = self.by_id(comment.repository).unwrap();
        let issue = self.issue_json(repository, &repository.pulls[&comment.number]);
        let body = json!({ "issue": issue, "comment": self.comment_json(&comment) });
        self.send(comment.repository, "issue_comment", Some(action), body, sender);
    }

    pub fn send_pull(
        &mut self,
        repository: u64,
        number: u64,
        action: &str,
        extra: Value,
        sender: &str,
    ) {
        let base = self.by_id(repository).unwrap();
        let mut body =
            json!({ "number": number, "pull_request": self.pull_json(base, &base.pulls[&number]) });
        merge(&mut body, extra);
        self.send(repository, "pull_request", Some(action), body, sender);
    }

    pub fn send_check(&mut self, id: u64, action: &str, extra: Value, sender: &str) {
        let run = self.checks.iter().find(|run| run.id == id).unwrap().clone();
        let mut body = json!({ "check_run": self.check_run_json(&run) });
        body["check_run"]["check_suite"]["head_sha"] = run.head_sha.as_str().into();
        body["check_run"]["check_suite"]["app"] = self.app_json();
        merge(&mut body, extra);
        self.send(run.repository, "check_run", Some(action), body, sender);
    }

    /// Queues one webhook, if the App is installed there.
    pub fn send(
        &mut self,
        repository: u64,
        event: &str,
        action: Option<&str>,
        extra: Value,
        sender: &str,
    ) {
        let Some(installation) = self.installation_of(repository).filter(|one| !one.suspended)
        else {
            return;
        };
        let id = installation.id;
        let mut body = json!({});
        if let Some(action) = action {
            body["action"] = action.into();
        }
        merge(&mut body, extra);
        body["repository"] = self.repository_json(self.by_id(repository).unwrap());
        body["sender"] = self.user_json(sender);
        body["installation"] = json!({ "id": id, "node_id": format!("I_{id}") });
        self.queue(event, action, Some(repository), id, body);
    }

    pub fn queue(
        &mut self,
        event: &str,
        action: Option<&str>,
        repository: Option<u64>,
        installation: u64,
        body: Value,
    ) {
        let id = self.id();
        let app = self.app_id;
        self.hooks.queue(id, app, event, action, repository, installation, body.to_string());
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
