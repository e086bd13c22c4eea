//! One pull request, as people use it.

use git2::Oid;
use serde_json::json;

use super::GitHub;
use super::people::Repo;
use super::state::{Comment, Pull, Review, ReviewComment};

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
    let newest = world.checks.iter().rfind(of);
    newest.unwrap_or_else(|| panic!("no check run {name} on {head}")).id
}
