//! JSON of what is said about a pull request, and of who says it: comments, reviews, check runs, the
//! App.

use serde_json::{Value, json};

use super::payload::{reactions_json, time};
use super::state::{
    CheckRun, Comment, Installation, Pull, Reaction, Repository, Review, ReviewComment,
};
use super::world::{World, merge};

impl World {
    pub fn comment_json(&self, comment: &Comment) -> Value {
        let repository = self.by_id(comment.repository).unwrap();
        let url = format!("{}/issues/comments/{}", self.repository_url(repository), comment.id);
        let page = format!("{}/{}/pull/{}", self.site, repository.full_name(), comment.number);
        json!({
            "url": url, "html_url": format!("{page}#issuecomment-{}", comment.id),
            "issue_url": format!("{}/issues/{}", self.repository_url(repository), comment.number),
            "id": comment.id, "node_id": format!("IC_{}", comment.id),
            "user": self.user_json(&comment.author), "created_at": time(comment.created),
            "updated_at": time(comment.updated), "body": comment.body,
            "author_association": self.association(repository, &comment.author),
            "reactions": reactions_json(&format!("{url}/reactions"), &comment.reactions),
            "performed_via_github_app": null,
        })
    }

    pub fn reaction_json(&self, reaction: &Reaction) -> Value {
        json!({
            "id": reaction.id, "node_id": format!("REA_{}", reaction.id),
            "user": self.user_json(&reaction.author), "content": reaction.content,
            "created_at": time(self.now()),
        })
    }

    pub fn review_json(&self, review: &Review) -> Value {
        let repository = self.by_id(review.repository).unwrap();
        let pull = format!("{}/pulls/{}", self.repository_url(repository), review.number);
        let html = format!(
            "{}/{}/pull/{}#pullrequestreview-{}",
            self.site,
            repository.full_name(),
            review.number,
            review.id
        );
        json!({
            "id": review.id, "node_id": format!("PRR_{}", review.id),
            "user": self.user_json(&review.author), "body": review.body, "state": review.state,
            "html_url": html, "pull_request_url": pull,
            "author_association": self.association(repository, &review.author),
            "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
            "submitted_at": time(review.created), "commit_id": review.commit.to_string(),
        })
    }

    pub fn review_comment_json(&self, comment: &ReviewComment) -> Value {
        let repository = self.by_id(comment.repository).unwrap();
        let url = format!("{}/pulls/comments/{}", self.repository_url(repository), comment.id);
        let pull = format!("{}/pulls/{}", self.repository_url(repository), comment.number);
        let html = format!(
            "{}/{}/pull/{}#discussion_r{}",
            self.site,
            repository.full_name(),
            comment.number,
            comment.id
        );
        let outdated = self.outdated(comment);
        let at = |line: Option<u32>| if outdated { None } else { line };
        json!({
            "url": url, "pull_request_review_id": comment.review, "id": comment.id,
            "node_id": format!("PRRC_{}", comment.id), "diff_hunk": comment.hunk,
            "path": comment.path, "commit_id": comment.commit.to_string(),
            "original_commit_id": comment.commit.to_string(),
            "user": self.user_json(&comment.author), "body": comment.body,
            "created_at": time(comment.created), "updated_at": time(comment.created),
            "html_url": html, "pull_request_url": pull,
            "author_association": self.association(repository, &comment.author),
            "_links": { "self": { "href": url }, "html": { "href": html }, "pull_request": { "href": pull } },
            "start_line": at(comment.start_line), "original_start_line": comment.start_line,
            "start_side": comment.start_line.map(|_| comment.side.as_str()),
            "line": at(Some(comment.line)), "original_line": comment.line, "side": comment.side,
            "position": if outdated { Value::Null } else { 1.into() }, "original_position": 1,
            "subject_type": "line", "reactions": reactions_json(&format!("{url}/reactions"), &[]),
        })
    }

    pub fn app_json(&self) -> Value {
        let then = time(self.start);
        json!({
            "id": self.app_id, "slug": self.app_slug, "node_id": format!("A_{}", self.app_id),
            "client_id": "Iv23liMockClientId00", "owner": self.user_json("acme"),
            "name": self.app_slug, "description": "", "external_url": "https://kernelbrain.example",
            "html_url": format!("{}/apps/{}", self.site, self.app_slug),
            "created_at": then, "updated_at": then,
            "permissions": self.installations.first().map(|one| json!(one.permissions)).unwrap_or(json!({})),
            "events": ["check_run", "issue_comment", "pull_request"], "installations_count": self.installations.len(),
        })
    }

    pub fn installation_json(&self, installation: &Installation) -> Value {
        let then = time(self.start);
        // GitHub's description of a list of installations takes an account that could be an
        // enterprise's too, so this one has what either has.
        let mut account = self.user_json(&installation.account);
        let also = json!({
            "name": installation.account, "slug": installation.account,
            "created_at": then, "updated_at": then,
        });
        merge(&mut account, also);
        json!({
            "id": installation.id, "account": account,
            "repository_selection": "selected",
            "access_tokens_url": format!("{}/app/installations/{}/access_tokens", self.api, installation.id),
            "repositories_url": format!("{}/installation/repositories", self.api),
            "html_url": format!("{}/settings/installations/{}", self.site, installation.id),
            "app_id": self.app_id, "app_slug": self.app_slug, "target_id": self.users[&installation.account].id,
            "target_type": "Organization", "permissions": installation.permissions,
            "events": ["check_run", "issue_comment", "pull_request"],
            "created_at": then, "updated_at": then, "single_file_name": null,
            "has_multiple_single_files": false, "single_file_paths": [], "suspended_by": null,
            "suspended_at": if installation.suspended { json!(then) } else { Value::Null },
        })
    }

    pub fn check_run_json(&self, run: &CheckRun) -> Value {
        let repository = self.by_id(run.repository).unwrap();
        let url = format!("{}/check-runs/{}", self.repository_url(repository), run.id);
        let pulls: Vec<Value> = repository
            .pulls
            .values()
            // For forks the list stays empty, as on GitHub.
            .filter(|pull| {
                pull.head_sha.to_string() == run.head_sha
                    && pull.head_repository == Some(repository.id)
            })
            .map(|pull| self.pull_stub(repository, pull))
            .collect();
        json!({
            "id": run.id, "head_sha": run.head_sha, "node_id": format!("CR_{}", run.id),
            "external_id": run.external_id, "url": url,
            "html_url": format!("{}/{}/runs/{}", self.site, repository.full_name(), run.id),
            "details_url": run.details_url, "status": run.status, "conclusion": run.conclusion,
            "started_at": time(run.started), "completed_at": run.completed.map(time),
            "output": {
                "title": run.title, "summary": run.summary, "text": run.text,
                "annotations_count": run.annotations, "annotations_url": format!("{url}/annotations"),
            },
            "name": run.name, "check_suite": { "id": run.suite }, "app": self.app_json(),
            "pull_requests": pulls,
        })
    }

    fn pull_stub(&self, repository: &Repository, pull: &Pull) -> Value {
        let stub = json!({
            "id": repository.id, "url": self.repository_url(repository), "name": repository.name,
        });
        json!({
            "url": format!("{}/pulls/{}", self.repository_url(repository), pull.number),
            "id": pull.id, "number": pull.number,
            "head": { "ref": pull.head_ref, "sha": pull.head_sha.to_string(), "repo": stub },
            "base": { "ref": pull.base_ref, "sha": pull.base_sha.to_string(), "repo": stub },
        })
    }
}
