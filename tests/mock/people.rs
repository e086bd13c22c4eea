//! What people do: everything here may set off webhooks, nothing here is the bot's.

use std::time::Duration;

use git2::Oid;
use serde_json::json;

use super::GitHub;
use super::faults::{Fault, path_matches};
use super::git;
use super::state::{Comment, Logged, Permission, Pull, Review, ReviewComment};
use super::webhook::{Delivery, seeded};

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

    // Webhooks.

    /// Sends webhooks there from now on, and what waits already.
    pub fn deliver_to(&self, url: &str) {
        self.world().hooks.target = Some(url.to_owned());
        self.inner.wake.notify_one();
    }

    pub fn set_webhook_secret(&self, secret: &str) {
        self.world().hooks.secret = secret.to_owned();
    }

    pub fn webhook_secret(&self) -> String {
        self.world().hooks.secret.clone()
    }

    /// The next `count` deliveries never arrive; GitHub lists them as failed.
    pub fn lose_deliveries(&self, count: usize) {
        self.world().hooks.lose = count;
    }

    /// The next `count` deliveries arrive twice.
    pub fn duplicate_deliveries(&self, count: usize) {
        self.world().hooks.duplicate = count;
    }

    /// Deliveries wait until they are let go.
    pub fn hold_deliveries(&self) {
        self.world().hooks.held = true;
    }

    pub fn release_deliveries(&self) {
        self.world().hooks.held = false;
        self.inner.wake.notify_one();
    }

    /// What waits goes out in an order of the seed's, not its own.
    pub fn reorder_deliveries(&self, seed: u64) {
        self.world().hooks.reorder = Some(seeded(seed));
    }

    /// Every delivery may be lost or come twice, by these chances.
    pub fn unreliable_deliveries(&self, seed: u64, lost: f64, twice: f64) {
        self.world().hooks.chaos = Some((seeded(seed), lost, twice));
    }

    pub fn reliable_deliveries(&self) {
        let mut world = self.world();
        world.hooks.chaos = None;
        world.hooks.reorder = None;
    }

    /// Hands over what waits to a test that carries it by hand; counted as arrived.
    pub fn take_deliveries(&self) -> Vec<Delivery> {
        let mut world = self.world();
        let now = world.now();
        world.hooks.take(now)
    }

    /// Every delivery so far, redeliveries included.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.world().hooks.all.clone()
    }

    /// Sends a delivery once more, as the button on GitHub's page does.
    pub fn redeliver(&self, delivery: u64) {
        let mut world = self.world();
        let id = world.id();
        assert!(world.hooks.redeliver(delivery, id), "no delivery {delivery}");
        drop(world);
        self.inner.wake.notify_one();
    }

    /// Queues a webhook of the test's own making.
    pub fn send_webhook(&self, event: &str, body: &serde_json::Value) {
        let action = body.get("action").and_then(|action| action.as_str()).map(str::to_owned);
        self.world().queue(event, action.as_deref(), None, 0, body.clone());
        self.inner.wake.notify_one();
    }

    /// Waits until nothing is queued or under way.
    pub async fn delivered(&self) {
        self.until("all webhooks are delivered", |github| github.world().hooks.idle()).await;
    }

    /// Waits, at most 30 seconds, until something is so.
    pub async fn until(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let start = std::time::Instant::now();
        while !so(self) {
            if start.elapsed() > Duration::from_secs(30) {
                let writes = self.writes().join("\n");
                panic!("waited in vain until {what}; writes so far:\n{writes}");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    // Trouble.

    /// The next `times` requests of a method to a path (`*` any segment, final `**` the rest, a
    /// method of `*` any) meet a fault.
    pub fn fail(&self, times: usize, method: &str, path: &str, fault: Fault) {
        let (method, pattern) = (method.to_owned(), path.to_owned());
        self.fail_where(times, fault, move |given, path| {
            (method == "*" || method == given) && path_matches(&pattern, path)
        });
    }

    /// The next `times` requests for which `matches(method, path)` holds meet a fault.
    pub fn fail_where(
        &self,
        times: usize,
        fault: Fault,
        matches: impl Fn(&str, &str) -> bool + Send + 'static,
    ) {
        self.world().faults.plan(times, fault, matches);
    }

    /// Every request meets one of the faults by chance, until [`GitHub::calm`].
    pub fn chaos(&self, seed: u64, chance: f64, of: &[Fault]) {
        self.world().faults.chaos(seed, chance, of.to_vec());
    }

    pub fn calm(&self) {
        self.world().faults.calm();
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Logged> {
        self.world().log.clone()
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

/// One pull request, as people use it.
#[derive(Clone, Debug)]
pub struct PullRequest {
    pub repository: Repo,
    pub number: u64,
}

impl PullRequest {
    fn github(&self) -> &GitHub {
        &self.repository.github
    }

    fn wake(&self) {
        self.github().inner.wake.notify_one();
    }

    pub fn now(&self) -> Pull {
        self.github().world().pull(self.repository.id, self.number).unwrap().clone()
    }

    pub fn head_sha(&self) -> String {
        self.now().head_sha.to_string()
    }

    pub fn base_sha(&self) -> String {
        self.now().base_sha.to_string()
    }

    pub fn label(&self, label: &str, by: &str) {
        self.github().world().set_label(self.repository.id, self.number, label, true, by);
        self.wake();
    }

    pub fn unlabel(&self, label: &str, by: &str) {
        self.github().world().set_label(self.repository.id, self.number, label, false, by);
        self.wake();
    }

    pub fn comment(&self, by: &str, text: &str) -> u64 {
        let id = self.github().world().add_comment(self.repository.id, self.number, by, text);
        self.wake();
        id
    }

    /// Somebody removes a comment.
    pub fn delete_comment(&self, id: u64, by: &str) {
        let mut world = self.github().world();
        world.send_comment(id, "deleted", by);
        world.comments.retain(|comment| comment.id != id);
        drop(world);
        self.wake();
    }

    /// Somebody edits a comment.
    pub fn edit_comment(&self, id: u64, by: &str, text: &str) {
        let mut world = self.github().world();
        let comment = world.comments.iter_mut().find(|comment| comment.id == id).unwrap();
        text.clone_into(&mut comment.body);
        world.send_comment(id, "edited", by);
        drop(world);
        self.wake();
    }

    /// Pushes one more commit to the head branch.
    pub fn push(&self, by: &str, files: &[(&str, &str)]) -> Oid {
        let pull = self.now();
        let head = Repo {
            github: self.github().clone(),
            id: pull.head_repository.expect("the head repository is there"),
        };
        let files: Vec<_> =
            files.iter().map(|(path, text)| (*path, Some(text.as_bytes()))).collect();
        head.commit_as(by, &pull.head_ref, &files)
    }

    pub fn close(&self, by: &str) {
        self.set_open(false, false, by);
    }

    pub fn reopen(&self, by: &str) {
        self.set_open(true, false, by);
    }

    /// Merges: here the base branch just takes the head.
    pub fn merge(&self, by: &str) {
        let pull = self.now();
        self.repository.set_branch(&pull.base_ref, pull.head_sha);
        self.set_open(false, true, by);
    }

    fn set_open(&self, open: bool, merged: bool, by: &str) {
        let mut world = self.github().world();
        world.user(by);
        let pull = world.by_id_mut(self.repository.id).pulls.get_mut(&self.number).unwrap();
        (pull.open, pull.merged) = (open, merged);
        let action = if open { "reopened" } else { "closed" };
        world.send_pull(self.repository.id, self.number, action, json!({}), by);
        drop(world);
        self.wake();
    }

    /// The fork behind the pull request is deleted.
    pub fn delete_fork(&self) {
        let mut world = self.github().world();
        let pull = world.by_id_mut(self.repository.id).pulls.get_mut(&self.number).unwrap();
        pull.head_repository = None;
    }

    /// Presses a button of the newest check run with that name on the head.
    pub fn click(&self, check: &str, identifier: &str, by: &str) {
        let mut world = self.github().world();
        world.user(by);
        let id = newest_check(&world, self, check);
        let run = world.checks.iter().find(|run| run.id == id).unwrap();
        let has = run.actions.iter().any(|action| action["identifier"] == identifier);
        assert!(has, "check run {check} has no button {identifier}: {:?}", run.actions);
        let extra = json!({ "requested_action": { "identifier": identifier } });
        world.send_check(id, "requested_action", extra, by);
        drop(world);
        self.wake();
    }

    /// Presses GitHub's own "Re-run" on a check run.
    pub fn rerun(&self, check: &str, by: &str) {
        let mut world = self.github().world();
        world.user(by);
        let id = newest_check(&world, self, check);
        world.send_check(id, "rerequested", json!({}), by);
        drop(world);
        self.wake();
    }

    pub fn comments(&self) -> Vec<Comment> {
        let world = self.github().world();
        world.comments_of(self.repository.id, self.number).cloned().collect()
    }

    /// Comments of the App alone.
    pub fn bot_comments(&self) -> Vec<Comment> {
        let bot = self.github().world().bot();
        self.comments().into_iter().filter(|comment| comment.author == bot).collect()
    }

    pub fn reviews(&self) -> Vec<Review> {
        let of = |one: &&Review| one.repository == self.repository.id && one.number == self.number;
        self.github().world().reviews.iter().filter(of).cloned().collect()
    }

    pub fn review_comments(&self, review: u64) -> Vec<ReviewComment> {
        let world = self.github().world();
        world.review_comments.iter().filter(|one| one.review == review).cloned().collect()
    }
}

fn newest_check(world: &super::world::World, pull: &PullRequest, name: &str) -> u64 {
    let head = world.pull(pull.repository.id, pull.number).unwrap().head_sha.to_string();
    let of = |run: &&super::state::CheckRun| run.name == name && run.head_sha == head;
    let newest = world.checks.iter().filter(of).next_back();
    newest.unwrap_or_else(|| panic!("no check run {name} on {head}")).id
}
