//! JSON as GitHub spells it, for answers and webhooks alike.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::git;
use super::state::{Permission, Pull, Reaction, Repository, User};
use super::world::{World, merge};

pub fn time(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}

/// Addresses of a user below its API address.
const USER_URLS: [(&str, &str); 9] = [
    ("followers_url", "/followers"),
    ("following_url", "/following{/other_user}"),
    ("gists_url", "/gists{/gist_id}"),
    ("starred_url", "/starred{/owner}{/repo}"),
    ("subscriptions_url", "/subscriptions"),
    ("organizations_url", "/orgs"),
    ("repos_url", "/repos"),
    ("events_url", "/events{/privacy}"),
    ("received_events_url", "/received_events"),
];

/// Addresses of a repository below its API address.
const REPOSITORY_URLS: [(&str, &str); 36] = [
    ("forks_url", "/forks"),
    ("keys_url", "/keys{/key_id}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("teams_url", "/teams"),
    ("hooks_url", "/hooks"),
    ("issue_events_url", "/issues/events{/number}"),
    ("events_url", "/events"),
    ("assignees_url", "/assignees{/user}"),
    ("branches_url", "/branches{/branch}"),
    ("tags_url", "/tags"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("trees_url", "/git/trees{/sha}"),
    ("statuses_url", "/statuses/{sha}"),
    ("languages_url", "/languages"),
    ("stargazers_url", "/stargazers"),
    ("contributors_url", "/contributors"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("commits_url", "/commits{/sha}"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("comments_url", "/comments{/number}"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("contents_url", "/contents/{+path}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("merges_url", "/merges"),
    ("archive_url", "/{archive_format}{/ref}"),
    ("downloads_url", "/downloads"),
    ("issues_url", "/issues{/number}"),
    ("pulls_url", "/pulls{/number}"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("labels_url", "/labels{/name}"),
    ("releases_url", "/releases{/id}"),
    ("deployments_url", "/deployments"),
];

const REACTIONS: [&str; 8] = ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"];

impl World {
    pub fn repository_url(&self, repository: &Repository) -> String {
        format!("{}/repos/{}", self.api, repository.full_name())
    }

    pub fn user_json(&self, login: &str) -> Value {
        let ghost = User { id: 10_137, login: "ghost".into(), bot: false };
        let user = self.users.get(login).unwrap_or(&ghost);
        let url =
            format!("{}/users/{}", self.api, user.login.replace('[', "%5B").replace(']', "%5D"));
        // An App's bot has no page of its own; its App has.
        let page = match user.login.strip_suffix("[bot]") {
            Some(app) => format!("{}/apps/{app}", self.site),
            None => format!("{}/{}", self.site, user.login),
        };
        let mut value = json!({
            "login": user.login, "id": user.id, "node_id": format!("U_{}", user.id),
            "avatar_url": format!("{}/avatars/{}", self.site, user.id), "gravatar_id": "",
            "url": url, "html_url": page,
            "type": if user.bot { "Bot" } else { "User" }, "user_view_type": "public",
            "site_admin": false,
        });
        for (name, below) in USER_URLS {
            value[name] = format!("{url}{below}").into();
        }
        value
    }

    pub fn repository_json(&self, repository: &Repository) -> Value {
        let url = self.repository_url(repository);
        let full = repository.full_name();
        let site = &self.site;
        let then = time(self.start);
        let mut value = json!({
            "id": repository.id, "node_id": format!("R_{}", repository.id),
            "name": repository.name, "full_name": full, "private": repository.private,
            "owner": self.user_json(&repository.owner), "html_url": format!("{site}/{full}"),
            "description": null, "fork": repository.fork_of.is_some(), "url": url,
            "created_at": then, "updated_at": then, "pushed_at": then, "homepage": null,
            "clone_url": format!("{site}/{full}.git"), "git_url": format!("git://localhost/{full}.git"),
            "ssh_url": format!("git@localhost:{full}.git"), "svn_url": format!("{site}/{full}"),
        });
        merge(
            &mut value,
            json!({
                "mirror_url": null, "size": 8, "stargazers_count": 0, "watchers_count": 0,
                "language": "Python", "has_issues": true, "has_projects": true, "has_downloads": true,
                "has_wiki": true, "has_pages": false, "has_discussions": false, "forks_count": 0,
                "archived": false, "disabled": false, "open_issues_count": 0, "license": null,
                "allow_forking": true, "is_template": false, "web_commit_signoff_required": false,
                "topics": [], "visibility": if repository.private { "private" } else { "public" },
                "forks": 0, "open_issues": 0, "watchers": 0, "network_count": 0,
                "subscribers_count": 0, "default_branch": repository.default_branch,
            }),
        );
        for (name, below) in REPOSITORY_URLS {
            value[name] = format!("{url}{below}").into();
        }
        value
    }

    pub fn label_json(&self, repository: &Repository, name: &str) -> Value {
        let id = 208_045_900 + name.bytes().map(u64::from).sum::<u64>();
        json!({
            "id": id, "node_id": format!("LA_{id}"), "name": name, "color": "d73a4a",
            "url": format!("{}/labels/{name}", self.repository_url(repository)),
            "default": false, "description": "",
        })
    }

    pub fn pull_json(&self, repository: &Repository, pull: &Pull) -> Value {
        let url = format!("{}/pulls/{}", self.repository_url(repository), pull.number);
        let issue = format!("{}/issues/{}", self.repository_url(repository), pull.number);
        let html = format!("{}/{}/pull/{}", self.site, repository.full_name(), pull.number);
        let git = repository.git();
        let changed = git::changed_files(&git::pull_diff(&git, pull.base_sha, pull.head_sha));
        let head = pull.head_repository.and_then(|id| self.by_id(id));
        let head_owner = head.map_or("unknown", |head| head.owner.as_str());
        let then = time(pull.created);
        let closed = if pull.open { Value::Null } else { time(self.now()).into() };
        let comments = self.comments_of(repository.id, pull.number).count();
        let mut value = json!({
            "url": url, "id": pull.id, "node_id": format!("PR_{}", pull.id), "html_url": html,
            "diff_url": format!("{html}.diff"), "patch_url": format!("{html}.patch"),
            "issue_url": issue, "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": format!("{}/pulls/comments{{/number}}", self.repository_url(repository)),
            "comments_url": format!("{issue}/comments"),
            "statuses_url": format!("{}/statuses/{}", self.repository_url(repository), pull.head_sha),
            "number": pull.number, "state": if pull.open { "open" } else { "closed" },
            "locked": pull.locked, "title": pull.title, "user": self.user_json(&pull.author),
            "body": pull.body, "created_at": then, "updated_at": time(self.now()),
            "closed_at": closed, "merged_at": if pull.merged { closed.clone() } else { Value::Null },
            "merge_commit_sha": null, "assignee": null, "assignees": [],
            "requested_reviewers": [], "requested_teams": [],
            "labels": pull.labels.iter().map(|name| self.label_json(repository, name)).collect::<Vec<_>>(),
            "milestone": null, "draft": pull.draft,
        });
        merge(
            &mut value,
            json!({
                "head": {
                    "label": format!("{head_owner}:{}", pull.head_ref), "ref": pull.head_ref,
                    "sha": pull.head_sha.to_string(), "user": self.user_json(head_owner),
                    "repo": head.map(|head| self.repository_json(head)),
                },
                "base": {
                    "label": format!("{}:{}", repository.owner, pull.base_ref), "ref": pull.base_ref,
                    "sha": pull.base_sha.to_string(), "user": self.user_json(&repository.owner),
                    "repo": self.repository_json(repository),
                },
                "_links": {
                    "self": { "href": url }, "html": { "href": html }, "issue": { "href": issue },
                    "comments": { "href": format!("{issue}/comments") },
                    "review_comments": { "href": format!("{url}/comments") },
                    "review_comment": { "href": format!("{}/pulls/comments{{/number}}", self.repository_url(repository)) },
                    "commits": { "href": format!("{url}/commits") },
                    "statuses": { "href": format!("{}/statuses/{}", self.repository_url(repository), pull.head_sha) },
                },
                "author_association": self.association(repository, &pull.author),
                "auto_merge": null, "active_lock_reason": null, "merged": pull.merged,
                "mergeable": true, "rebaseable": true, "mergeable_state": "clean", "merged_by": null,
                "comments": comments, "review_comments": 0, "maintainer_can_modify": false,
                "commits": 1, "additions": changed.iter().map(|file| file.additions).sum::<usize>(),
                "deletions": changed.iter().map(|file| file.deletions).sum::<usize>(),
                "changed_files": changed.len(),
            }),
        );
        value
    }

    /// The issue that every pull request also is.
    pub fn issue_json(&self, repository: &Repository, pull: &Pull) -> Value {
        let url = format!("{}/issues/{}", self.repository_url(repository), pull.number);
        let html = format!("{}/{}/pull/{}", self.site, repository.full_name(), pull.number);
        json!({
            "url": url, "repository_url": self.repository_url(repository),
            "labels_url": format!("{url}/labels{{/name}}"), "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"), "timeline_url": format!("{url}/timeline"),
            "html_url": html, "id": pull.id + 1, "node_id": format!("PR_{}", pull.id),
            "number": pull.number, "title": pull.title, "user": self.user_json(&pull.author),
            "labels": pull.labels.iter().map(|name| self.label_json(repository, name)).collect::<Vec<_>>(),
            "state": if pull.open { "open" } else { "closed" }, "locked": pull.locked,
            "assignee": null, "assignees": [], "milestone": null,
            "comments": self.comments_of(repository.id, pull.number).count(),
            "created_at": time(pull.created), "updated_at": time(self.now()),
            "closed_at": if pull.open { Value::Null } else { time(self.now()).into() },
            "author_association": self.association(repository, &pull.author),
            "active_lock_reason": null, "draft": pull.draft, "body": pull.body,
            "pull_request": {
                "url": format!("{}/pulls/{}", self.repository_url(repository), pull.number),
                "html_url": html, "diff_url": format!("{html}.diff"),
                "patch_url": format!("{html}.patch"), "merged_at": null,
            },
            "reactions": reactions_json(&format!("{url}/reactions"), &pull.reactions),
            "performed_via_github_app": null, "state_reason": null,
        })
    }

    pub fn association(&self, repository: &Repository, login: &str) -> &'static str {
        match repository.permission_of(login) {
            _ if login == repository.owner => "OWNER",
            Permission::Write | Permission::Maintain | Permission::Admin => "COLLABORATOR",
            _ => "CONTRIBUTOR",
        }
    }
}

pub fn reactions_json(url: &str, reactions: &[Reaction]) -> Value {
    let mut value = json!({ "url": url, "total_count": reactions.len() });
    for name in REACTIONS {
        value[name] = reactions.iter().filter(|reaction| reaction.content == name).count().into();
    }
    value
}
