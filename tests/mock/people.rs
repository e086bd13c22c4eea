//! What people do: everything here may set off webhooks, nothing here is the bot's.

use git2::Oid;
use serde_json::json;

use super::GitHub;
use super::git;
use super::pull_request::PullRequest;
use super::state::{Permission, Pull};

impl GitHub {
    /// The repository of that name; made, with the App installed, if there is none.
    pub fn repository(&self, full_name: &str) -> Repo {
        let mut world = self.world();
        let (owner, name) = full_name.split_once('/').expect("owner/name");
        let known = world.by_name(owner, name).map(|one| one.id);
        let id = known.unwrap_or_else(|| {
            let id = world.create_repository(owner, name, None);
            world.install(id);
            id
        });
        Repo { github: self.clone(), id }
    }

    /// A repository where the App is not installed.
    pub fn repository_without_app(&self, full_name: &str) -> Repo {
        let (owner, name) = full_name.split_once('/').expect("owner/name");
        let id = self.world().create_repository(owner, name, None);
        Repo { github: self.clone(), id }
    }

    /// `by`'s fork of a repository, without the App.
    pub fn fork(&self, of: &Repo, by: &str) -> Repo {
        let mut world = self.world();
        let name = world.by_id(of.id).unwrap().name.clone();
        let id = world.create_repository(by, &name, Some(of.id));
        Repo { github: self.clone(), id }
    }

    pub fn user(&self, login: &str) {
        self.world().user(login);
    }

    pub fn app_slug(&self) -> String {
        self.world().app_slug.clone()
    }

    /// Moves this GitHub's clock against the machine's.
    pub fn set_clock_ahead(&self, seconds: i64) {
        self.world().ahead_s = seconds;
    }

    pub fn expire_tokens(&self) {
        self.world().expire_tokens();
    }

    /// Takes from, or gives to, every installation of the App a permission (`None`: takes).
    pub fn set_app_permission(&self, what: &str, level: Option<&str>) {
        for installation in &mut self.world().installations {
            match level {
                Some(level) => installation.permissions.insert(what.to_owned(), level.to_owned()),
                None => installation.permissions.remove(what),
            };
        }
    }

    /// A token as the App would get it, for a test that speaks for itself.
    pub fn mint(&self, of: &Repo, permissions: &[(&str, &str)]) -> String {
        let mut world = self.world();
        let installation = world.installation_of(of.id).expect("the App is installed").id;
        let number = world.id();
        let text = format!("ghs_{}_test.{number:08x}.token-{number}", world.app_id);
        let owned = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
        let expires = world.now() + 3600;
        world.tokens.push(super::state::Token {
            text: text.clone(),
            installation,
            repositories: Some(vec![of.id]),
            permissions: permissions.iter().map(owned).collect(),
            expires,
        });
        text
    }
}

/// One repository, as people use it.
#[derive(Clone, Debug)]
pub struct Repo {
    pub github: GitHub,
    pub id: u64,
}

impl Repo {
    pub fn full_name(&self) -> String {
        self.github.world().by_id(self.id).unwrap().full_name()
    }

    /// Address for git over HTTP.
    pub fn clone_url(&self) -> String {
        format!("{}/{}.git", self.github.site(), self.full_name())
    }

    /// The repository on disk, for whatever the methods here cannot say.
    pub fn git(&self) -> git2::Repository {
        self.github.world().by_id(self.id).unwrap().git()
    }

    pub fn installation(&self) -> u64 {
        self.github.world().installation_of(self.id).expect("the App is installed").id
    }

    pub fn set_permission(&self, login: &str, permission: Permission) {
        self.github.world().set_permission(self.id, login, permission);
    }

    pub fn set_private(&self) {
        self.github.world().by_id_mut(self.id).private = true;
    }

    /// As on plans without draft pull requests.
    pub fn refuse_drafts(&self) {
        self.github.world().by_id_mut(self.id).refuses_drafts = true;
    }

    /// Commits to a branch (made from the default branch if new) and pushes.
    pub fn commit(&self, branch: &str, files: &[(&str, &str)]) -> Oid {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (*path, Some(text.as_bytes()))).collect();
        self.commit_as("mona", branch, &files)
    }

    /// The same by somebody, with bytes; None removes the file.
    pub fn commit_as(&self, author: &str, branch: &str, files: &[(&str, Option<&[u8]>)]) -> Oid {
        let parent = {
            let world = self.github.world();
            let one = world.by_id(self.id).unwrap();
            one.branch(branch).or_else(|| one.branch(&one.default_branch))
        };
        self.push_commit(author, branch, parent, files)
    }

    /// Replaces a branch by a commit on top of `onto`.
    pub fn force_push(&self, branch: &str, onto: Oid, files: &[(&str, &str)]) -> Oid {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (*path, Some(text.as_bytes()))).collect();
        self.push_commit("mona", branch, Some(onto), &files)
    }

    fn push_commit(
        &self,
        author: &str,
        branch: &str,
        parent: Option<Oid>,
        files: &[(&str, Option<&[u8]>)],
    ) -> Oid {
        let mut world = self.github.world();
        world.user(author);
        let id = world.commit(self.id, parent, files, author, &format!("Change {branch}"));
        world.move_branch(self.id, branch, id, author);
        drop(world);
        self.github.inner.wake.notify_one();
        id
    }

    /// Points a branch at a commit that is there already, hand-made ones included.
    pub fn set_branch(&self, branch: &str, to: Oid) {
        self.github.world().user("mona");
        self.github.world().move_branch(self.id, branch, to, "mona");
        self.github.inner.wake.notify_one();
    }

    pub fn branch(&self, name: &str) -> Option<Oid> {
        self.github.world().by_id(self.id).unwrap().branch(name)
    }

    pub fn branches(&self) -> Vec<String> {
        let git = self.git();
        let all = git.references_glob("refs/heads/*").unwrap().flatten();
        all.map(|one| one.name().unwrap().trim_start_matches("refs/heads/").to_owned()).collect()
    }

    /// The text of a file on a branch.
    pub fn file(&self, branch: &str, path: &str) -> Option<String> {
        let bytes = git::file(&self.git(), self.branch(branch)?, path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Opens a pull request of one of its own branches into the default branch.
    pub fn open_pull(&self, author: &str, branch: &str) -> PullRequest {
        self.open_pull_from(self, author, branch)
    }

    /// Opens a pull request of a fork's branch.
    pub fn open_pull_from(&self, fork: &Self, author: &str, branch: &str) -> PullRequest {
        let mut world = self.github.world();
        let base = world.by_id(self.id).unwrap().default_branch.clone();
        let title = format!("Change {branch}");
        let head = (fork.id, branch);
        let number = world.open_pull(self.id, author, &title, "", &base, head, false);
        drop(world);
        self.github.inner.wake.notify_one();
        self.pull(number)
    }

    pub fn pull(&self, number: u64) -> PullRequest {
        PullRequest { repository: self.clone(), number }
    }

    pub fn pulls(&self) -> Vec<Pull> {
        self.github.world().by_id(self.id).unwrap().pulls.values().cloned().collect()
    }

    /// Suspends the App's installation here.
    pub fn suspend_app(&self) {
        let mut world = self.github.world();
        let id = world.installation_of(self.id).expect("the App is installed").id;
        let body = json!({
            "action": "suspend", "sender": world.user_json("mona"),
            "installation": world.installation_json(world.installation_of(self.id).unwrap()),
        });
        world.queue("installation", Some("suspend"), None, id, body);
        world.installations.iter_mut().find(|one| one.id == id).unwrap().suspended = true;
    }
}
