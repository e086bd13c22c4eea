//! Deliveries of the size and the kinds that a busy organisation sends, none of which asks for anything.
//!
//! Of one kind all bodies begin alike and end with what is theirs: so a signature costs the sender a few
//! bytes, and the service all of them.

use std::{rc::Rc, time::Duration};

use hmac::{Hmac, Mac as _};
use serde_json::{Map, Value, json};
use sha2::Sha256;

/// What is due when.
#[derive(Clone)]
pub(super) struct Timetable {
    kinds: Rc<Vec<Kind>>,
    rate: u64,
    count: usize,
    /// Tells runs apart in the ids.
    run: u32,
}

struct Kind {
    event: &'static str,
    beginning: Vec<u8>,
    /// Over the beginning.
    mac: Hmac<Sha256>,
}

impl Timetable {
    pub(super) fn new(secret: &str, rate: u64, time: Duration) -> Self {
        // As they occur: half of them pull requests, the largest of all.
        let events = [
            ("pull_request", pull_request("labeled")),
            ("push", push()),
            ("pull_request", pull_request("opened")),
            ("check_run", check_run()),
            ("pull_request", pull_request("edited")),
            ("issue_comment", issue_comment()),
            ("pull_request", pull_request("review_requested")),
            ("workflow_run", workflow_run()),
        ];
        let kinds = events.map(|(event, payload)| {
            let mut beginning = payload.to_string().into_bytes();
            // What is open here, each delivery closes in its own words.
            beginning.pop();
            let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
            let mac = mac.expect("a key may have any length").chain_update(&beginning);
            Kind { event, beginning, mac }
        });
        let count = usize::try_from(rate * time.as_secs()).expect("a countable load");
        Self { kinds: Rc::new(kinds.into()), rate, count, run: std::process::id() }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Since the beginning.
    pub(super) fn due(&self, number: usize) -> Duration {
        Duration::from_nanos(number as u64 * 1_000_000_000 / self.rate)
    }

    /// Its id, and the request as it goes over the wire.
    pub(super) fn request(&self, number: usize) -> (String, Vec<u8>) {
        let kind = &self.kinds[number % self.kinds.len()];
        let id = format!("{:08x}-c0de-11f0-8000-{number:012x}", self.run);
        let ending = format!(r#","delivered_as":"{id}"}}"#);
        let signature = kind.mac.clone().chain_update(&ending).finalize().into_bytes();
        let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        let head = format!(
            "POST /webhook HTTP/1.1\r\nhost: localhost\r\nuser-agent: GitHub-Hookshot/044aadd\r\n\
             accept: */*\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             x-github-event: {}\r\nx-github-delivery: {id}\r\nx-github-hook-id: 292430182\r\n\
             x-github-hook-installation-target-type: integration\r\n\
             x-hub-signature-256: sha256={signature}\r\n\r\n",
            kind.beginning.len() + ending.len(),
            kind.event,
        );
        (id, [head.as_bytes(), &kind.beginning, ending.as_bytes()].concat())
    }

    pub(super) fn mean_bytes(&self) -> usize {
        self.kinds.iter().map(|kind| kind.beginning.len()).sum::<usize>() / self.kinds.len()
    }

    pub(super) fn most_bytes(&self) -> usize {
        self.kinds.iter().map(|kind| kind.beginning.len()).max().unwrap_or_default()
    }
}

const SHA: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";
const TIME: &str = "2026-03-14T15:09:26Z";

fn fields(base: &str, names: &[&str]) -> Map<String, Value> {
    let url = |name: &&str| (format!("{name}_url"), json!(format!("{base}/{name}{{/value}}")));
    names.iter().map(url).collect()
}

/// `value` with the addresses of everything that belongs to it, of which GitHub sends dozens.
fn with_urls(mut value: Value, base: &str, names: &[&str]) -> Value {
    if let Value::Object(object) = &mut value {
        object.append(&mut fields(base, names));
    }
    value
}

fn user(login: &str) -> Value {
    let value = json!({
        "login": login, "id": 21_031_067, "node_id": "MDQ6VXNlcjIxMDMxMDY3", "gravatar_id": "",
        "type": "User", "user_view_type": "public", "site_admin": false,
    });
    let names = [
        "avatar",
        "html",
        "followers",
        "following",
        "gists",
        "starred",
        "subscriptions",
        "organizations",
        "repos",
        "events",
        "received_events",
    ];
    with_urls(value, &format!("https://api.github.com/users/{login}"), &names)
}

fn repository() -> Value {
    let value = json!({
        "id": 186_853_002, "node_id": "MDEwOlJlcG9zaXRvcnkxODY4NTMwMDI=", "name": "kernels",
        "full_name": "acme-corporation/kernels", "private": false, "owner": user("acme-corporation"),
        "description": "Kernels that everything else waits for", "fork": false,
        "created_at": TIME, "updated_at": TIME, "pushed_at": TIME, "size": 4711,
        "stargazers_count": 1234, "watchers_count": 1234, "language": "Python", "has_issues": true,
        "has_projects": true, "has_downloads": true, "has_wiki": true, "has_pages": false,
        "forks_count": 321, "archived": false, "disabled": false, "open_issues_count": 42,
        "license": { "key": "apache-2.0", "name": "Apache License 2.0", "spdx_id": "Apache-2.0" },
        "topics": ["triton", "gpu", "kernels"], "visibility": "public", "default_branch": "main",
    });
    let names = [
        "html",
        "forks",
        "keys",
        "collaborators",
        "teams",
        "hooks",
        "issue_events",
        "events",
        "assignees",
        "branches",
        "tags",
        "blobs",
        "git_tags",
        "git_refs",
        "trees",
        "statuses",
        "languages",
        "stargazers",
        "contributors",
        "subscribers",
        "subscription",
        "commits",
        "git_commits",
        "comments",
        "issue_comment",
        "contents",
        "compare",
        "merges",
        "archive",
        "downloads",
        "issues",
        "pulls",
        "milestones",
        "notifications",
        "labels",
        "releases",
        "deployments",
        "git",
        "ssh",
        "clone",
        "svn",
        "mirror",
    ];
    with_urls(value, "https://api.github.com/repos/acme-corporation/kernels", &names)
}

fn label(name: &str) -> Value {
    json!({ "id": 1_362_934_389, "node_id": "MDU6TGFiZWwxMzYyOTM0Mzg5", "name": name,
        "url": format!("https://api.github.com/repos/acme-corporation/kernels/labels/{name}"),
        "color": "d73a4a", "default": true, "description": "Something is not as it should be" })
}

/// What every event of a repository says.
fn about(event: Value) -> Value {
    let mut all = json!({
        "repository": repository(), "organization": user("acme-corporation"), "sender": user("mona"),
        "installation": { "id": 957_387, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMQ==" },
    });
    if let (Value::Object(all), Value::Object(mut event)) = (&mut all, event) {
        all.append(&mut event);
    }
    all
}

fn pull_request(action: &str) -> Value {
    let end = |branch: &str| {
        json!({ "label": format!("acme-corporation:{branch}"), "ref": branch, "sha": SHA,
            "user": user("acme-corporation"), "repo": repository() })
    };
    let value = json!({
        "id": 279_147_437, "node_id": "MDExOlB1bGxSZXF1ZXN0Mjc5MTQ3NDM3", "number": 17,
        "state": "open", "locked": false, "title": "Fuse the bias into the epilogue",
        "user": user("mona"), "body": "One pass over the output instead of two. ".repeat(20),
        "created_at": TIME, "updated_at": TIME, "closed_at": null, "merged_at": null,
        "merge_commit_sha": SHA, "assignee": user("mona"), "assignees": [user("mona")],
        "requested_reviewers": [user("hubot"), user("octocat")], "requested_teams": [],
        "labels": [label("bug"), label("performance")], "milestone": null, "draft": false,
        "head": end("fused-bias"), "base": end("main"), "author_association": "MEMBER",
        "merged": false, "mergeable": null, "comments": 3, "review_comments": 5, "commits": 2,
        "additions": 120, "deletions": 80, "changed_files": 4,
    });
    let names = [
        "html",
        "diff",
        "patch",
        "issue",
        "commits",
        "review_comments",
        "review_comment",
        "comments",
        "statuses",
    ];
    let base = "https://api.github.com/repos/acme-corporation/kernels/pulls/17";
    about(json!({ "action": action, "number": 17, "label": label("bug"),
        "pull_request": with_urls(value, base, &names) }))
}

fn push() -> Value {
    let person = json!({ "name": "Mona", "email": "mona@example.com", "username": "mona" });
    let commit = json!({ "id": SHA, "tree_id": SHA, "distinct": true, "timestamp": TIME,
        "message": "Fuse the bias into the epilogue", "author": person, "committer": person,
        "added": [], "removed": [], "modified": ["kernels/linear.py", "tests/test_linear.py"] });
    about(json!({ "ref": "refs/heads/fused-bias", "before": SHA, "after": SHA, "created": false,
        "pusher": person, "commits": [commit, commit, commit], "head_commit": commit }))
}

fn check_run() -> Value {
    about(json!({ "action": "completed", "check_run": {
        "id": 128_620_228, "name": "unit tests", "head_sha": SHA, "external_id": "",
        "status": "completed", "conclusion": "success", "started_at": TIME, "completed_at": TIME,
        "output": { "title": "412 passed", "summary": "Nothing to see here. ".repeat(60) },
        "app": { "id": 29_310, "slug": "continuous", "owner": user("continuous") } } }))
}

fn issue_comment() -> Value {
    about(json!({ "action": "created",
        "issue": { "number": 18, "title": "Slower since Tuesday", "user": user("hubot"),
            "labels": [label("bug")], "assignees": [user("mona")], "state": "open",
            "body": "Half as fast as the week before, on every card that I have. ".repeat(30) },
        "comment": { "id": 492_700_400, "user": user("mona"), "created_at": TIME,
            "body": "I see the same, and it goes away with the older compiler. ".repeat(30) } }))
}

fn workflow_run() -> Value {
    about(json!({ "action": "completed", "workflow": { "id": 1, "name": "CI", "state": "active" },
        "workflow_run": { "id": 289_782_451, "name": "CI", "head_branch": "fused-bias",
            "head_sha": SHA, "event": "push", "status": "completed", "conclusion": "success",
            "actor": user("mona"), "triggering_actor": user("mona"), "pull_requests": [],
            "head_repository": repository(), "repository": repository() } }))
}
