//! What follows from a change: whoever makes it, a person or the bot, the same webhooks go out.

use git2::Oid;
use serde_json::{Value, json};

use super::state::{Comment, Pull};
use super::world::{World, merge};

impl World {
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
}
