//! Writes: sent once, as GitHub wants them.

use std::time::Duration;

use kernelbrain::github::{
    CheckAction, CheckConclusion, CheckStatus, GitHubError, MAX_BODY_CHARACTERS, NewCheckRun,
    NewPull, NewReview, Reaction, ReviewComment, WallClock as _,
};
use serde_json::json;

use crate::{
    common::{INSTALLATION, REPOSITORY, TestClock, github_at},
    fake::{Fake, comment, ok, pull, refusal, status},
};

const PULL: &str = "/repos/octo/kernels/pulls/7";
const PULLS: &str = "/repos/octo/kernels/pulls";
const COMMENTS: &str = "/repos/octo/kernels/issues/7/comments";

#[tokio::test]
async fn a_write_that_meets_trouble_is_sent_once() {
    for code in [500, 502, 503, 504] {
        let fake = Fake::minting().await;
        fake.answer("POST", COMMENTS, refusal(code, "Server Error")).await;
        let error = fake.repository().create_comment(7, "hi").await.unwrap_err();
        assert!(error.may_have_arrived(), "{error}");
        assert_eq!(fake.asked().await.len(), 1);
        let now = fake.clock.now();
        assert_eq!(error.retry_at(1, now), Some(now + Duration::from_secs(2)));
        assert_eq!(error.retry_at(2, now), Some(now + Duration::from_secs(4)));
        assert_eq!(error.retry_at(u32::MAX, now), Some(now + Duration::from_secs(600)));
    }
}

#[tokio::test]
async fn a_write_whose_answer_cannot_be_read_is_sent_once_and_may_have_been_done() {
    let fake = Fake::minting().await;
    fake.answer("POST", COMMENTS, status(201).set_body_string("{\"id\": ")).await;
    let error = fake.repository().create_comment(7, "hi").await.unwrap_err();
    assert!(matches!(error, GitHubError::Invalid(_)), "{error}");
    assert!(error.may_have_arrived());
    assert_eq!(fake.asked().await.len(), 1);
}

#[tokio::test]
async fn a_read_is_repeated_a_few_times() {
    let fake = Fake::minting().await;
    fake.answer_times(3, "GET", PULL, refusal(502, "Bad Gateway")).await;
    fake.answer("GET", PULL, ok(pull(7))).await;
    fake.repository().pull(7).await.unwrap();
    assert_eq!(fake.asked().await.len(), 4);

    let fake = Fake::minting().await;
    fake.answer("GET", PULL, refusal(502, "Bad Gateway")).await;
    let error = fake.repository().pull(7).await.unwrap_err();
    assert!(matches!(error, GitHubError::Transient { .. }), "{error}");
    assert_eq!(fake.asked().await.len(), 4);
}

#[tokio::test]
async fn a_write_to_nobody_has_not_arrived() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let github = github_at(&format!("http://127.0.0.1:{port}"), &TestClock::new());
    let error = github.redeliver(1).await.unwrap_err();
    assert!(matches!(error, GitHubError::Transient { may_have_arrived: false, .. }), "{error:?}");
    let repository = github.repository(INSTALLATION, REPOSITORY, "octo/kernels");
    assert!(!repository.create_comment(7, "hi").await.unwrap_err().may_have_arrived());
}

#[tokio::test]
async fn a_comment_is_changed_with_patch() {
    let fake = Fake::minting().await;
    let one = "/repos/octo/kernels/issues/comments/9";
    fake.answer("PATCH", one, ok(comment(9, "new"))).await;
    fake.answer("DELETE", one, status(204)).await;
    let repository = fake.repository();
    let changed = repository.update_comment(9, "new").await.unwrap();
    assert_eq!((changed.body.as_str(), changed.performed_via_app), ("new", Some(4711)));
    assert!(changed.user.is_bot());
    repository.delete_comment(9).await.unwrap();
    assert_eq!(fake.asked().await, [format!("PATCH {one}"), format!("DELETE {one}")]);
}

#[tokio::test]
async fn what_github_would_refuse_is_not_sent() {
    let fake = Fake::minting().await;
    let repository = fake.repository();
    let long = "ä".repeat(MAX_BODY_CHARACTERS + 1);
    let mut many = check_run();
    many.actions = vec![many.actions[0].clone(); 4];
    let mut wordy = check_run();
    wordy.actions[0].label = "twenty-one characters".to_owned();
    let mut endless = check_run();
    endless.conclusion = None;
    let mut backwards = review();
    backwards.comments[0].start_line = Some(12);
    for (error, said) in [
        (repository.create_comment(7, &long).await.unwrap_err(), "65537 characters"),
        (repository.create_check_run(&many).await.unwrap_err(), "three actions"),
        (repository.create_check_run(&wordy).await.unwrap_err(), "label"),
        (repository.update_check_run(1, &endless).await.unwrap_err(), "conclusion"),
        (repository.create_review(7, &backwards).await.unwrap_err(), "begin before"),
    ] {
        assert!(matches!(&error, GitHubError::Unprocessable(why) if why.contains(said)), "{error}");
    }
    assert!(fake.requests().await.is_empty());
}

fn check_run() -> NewCheckRun {
    NewCheckRun {
        name: "kernelbrain".to_owned(),
        head_sha: "a".repeat(40),
        external_id: "job-1".to_owned(),
        status: CheckStatus::Completed,
        conclusion: Some(CheckConclusion::Neutral),
        title: "No gain".to_owned(),
        summary: "Nothing was faster.".to_owned(),
        text: None,
        details_url: None,
        actions: vec![CheckAction {
            label: "Run again".to_owned(),
            description: "Search this commit again".to_owned(),
            identifier: "again".to_owned(),
        }],
    }
}

#[tokio::test]
async fn a_check_run_is_made_and_then_set() {
    let fake = Fake::minting().await;
    let made = json!({"id": 5, "name": "kernelbrain", "head_sha": "a".repeat(40), "status": "queued",
        "external_id": "", "conclusion": null, "app": {"id": 4711}, "html_url": "https://x"});
    fake.answer("POST", "/repos/octo/kernels/check-runs", status(201).set_body_json(&made)).await;
    fake.answer("PATCH", "/repos/octo/kernels/check-runs/5", ok(made)).await;
    let repository = fake.repository();

    let made = repository.create_check_run(&check_run()).await.unwrap();
    assert_eq!((made.id, made.status, made.external_id), (5, CheckStatus::Queued, None));
    let mut shown = json!({
        "status": "completed", "conclusion": "neutral",
        "output": {"title": "No gain", "summary": "Nothing was faster."},
        "actions": [{"label": "Run again", "description": "Search this commit again",
            "identifier": "again"}],
    });
    let mut sent = fake.last_body().await;
    for (field, value) in [("name", "kernelbrain"), ("external_id", "job-1")] {
        assert_eq!(sent.as_object_mut().unwrap().remove(field).unwrap(), value);
    }
    assert_eq!(sent.as_object_mut().unwrap().remove("head_sha").unwrap(), "a".repeat(40));
    assert_eq!(sent, shown);

    let mut next = check_run();
    (next.text, next.details_url) = (Some("more".to_owned()), Some("https://y".to_owned()));
    repository.update_check_run(5, &next).await.unwrap();
    shown["output"]["text"] = "more".into();
    shown["details_url"] = "https://y".into();
    assert_eq!(fake.last_body().await, shown);
}

fn review() -> NewReview {
    let comment = |line, start_line| ReviewComment {
        path: "kernels/softmax.py".to_owned(),
        body: "```suggestion\nBLOCK = 128\n```".to_owned(),
        line,
        start_line,
    };
    NewReview {
        commit_id: "a".repeat(40),
        body: "Apply as one batch".to_owned(),
        comments: vec![comment(12, Some(10)), comment(3, None)],
    }
}

#[tokio::test]
async fn a_review_comments_on_the_head() {
    let fake = Fake::minting().await;
    let path = "/repos/octo/kernels/pulls/7/reviews";
    let made = json!({"id": 80, "node_id": "PRR_80", "user": null, "body": "b", "state": "COMMENTED",
        "commit_id": "a".repeat(40), "submitted_at": "2026-01-31T12:00:00Z", "html_url": "https://r"});
    fake.answer("POST", path, ok(made)).await;

    let made = fake.repository().create_review(7, &review()).await.unwrap();

    assert_eq!((made.id, made.user.login.as_str()), (80, "ghost"));
    let suggestion = "```suggestion\nBLOCK = 128\n```";
    let (path, side) = ("kernels/softmax.py", "RIGHT");
    assert_eq!(
        fake.last_body().await,
        json!({
            "commit_id": "a".repeat(40), "body": "Apply as one batch", "event": "COMMENT",
            "comments": [
                {"path": path, "body": suggestion, "line": 12, "side": side,
                    "start_line": 10, "start_side": side},
                {"path": path, "body": suggestion, "line": 3, "side": side},
            ],
        })
    );
}

#[tokio::test]
async fn a_bad_line_is_told_in_githubs_words() {
    let fake = Fake::minting().await;
    let body = json!({"message": "Unprocessable Entity", "errors": [
        "Line could not be resolved", {"field": "path", "code": "invalid"}, {"message": "so there"}
    ]});
    fake.answer("POST", "/repos/octo/kernels/pulls/7/reviews", status(422).set_body_json(body))
        .await;
    let error = fake.repository().create_review(7, &review()).await.unwrap_err();
    let words = "Unprocessable Entity: Line could not be resolved; path invalid; so there";
    assert_eq!(error, GitHubError::Unprocessable(words.to_owned()));
}

fn new_pull() -> NewPull {
    NewPull {
        title: "Faster".to_owned(),
        head: "kernelbrain/pr-7-aaaaaaaa".to_owned(),
        base: "fast".to_owned(),
        body: "<!-- marker -->".to_owned(),
        draft: true,
    }
}

#[tokio::test]
async fn where_the_plan_has_no_drafts_it_is_an_ordinary_pull_request() {
    let fake = Fake::minting().await;
    let body = json!({"message": "Validation Failed", "errors": [
        {"resource": "PullRequest", "code": "custom",
            "message": "Draft pull requests are not supported in this repository."}]});
    fake.answer_times(1, "POST", PULLS, status(422).set_body_json(body)).await;
    fake.answer("POST", PULLS, status(201).set_body_json(pull(8))).await;

    let made = fake.repository().create_pull(&new_pull()).await.unwrap();

    assert_eq!((made.number, made.draft), (8, false));
    assert_eq!(fake.asked().await.len(), 2);
    assert_eq!(fake.last_body().await["draft"], false);
}

#[tokio::test]
async fn another_refusal_of_a_pull_request_stays_one() {
    let fake = Fake::minting().await;
    let why = "A pull request already exists for octo:kernelbrain/pr-7-aaaaaaaa.";
    fake.answer("POST", PULLS, refusal(422, why)).await;
    let error = fake.repository().create_pull(&new_pull()).await.unwrap_err();
    assert_eq!(error, GitHubError::Unprocessable(why.to_owned()));
    assert_eq!(fake.asked().await.len(), 1);
}

#[tokio::test]
async fn a_branch_is_made_of_blobs_and_an_executable_stays_one() {
    let fake = Fake::minting().await;
    let git = |rest: &str| format!("/repos/octo/kernels/git/{rest}");
    let entry = |path: &str, mode: &str, kind: &str, sha: &str| json!({"path": path, "mode": mode, "type": kind, "sha": sha});
    let root = json!({"sha": "root", "truncated": false, "tree": [
        entry("kernels", "040000", "tree", "sub"), entry("link", "120000", "blob", "l")]});
    let sub = json!({"sha": "sub", "truncated": false, "tree": [
        entry("softmax.py", "100755", "blob", "old")]});
    fake.answer("GET", &git("commits/head"), ok(json!({"tree": {"sha": "root"}}))).await;
    fake.answer("GET", &git("trees/root"), ok(root)).await;
    fake.answer("GET", &git("trees/sub"), ok(sub)).await;
    fake.answer("POST", &git("blobs"), status(201).set_body_json(json!({"sha": "new"}))).await;
    fake.answer("POST", &git("trees"), status(201).set_body_json(json!({"sha": "tree"}))).await;
    fake.answer("POST", &git("commits"), status(201).set_body_json(json!({"sha": "commit"}))).await;
    let reference = json!({"ref": "refs/heads/k/1", "object": {"sha": "commit", "type": "commit"}});
    fake.answer("POST", &git("refs"), status(201).set_body_json(&reference)).await;
    fake.answer("PATCH", &git("refs/heads/k/1"), ok(reference.clone())).await;
    fake.answer("GET", &git("ref/heads/k/1"), ok(reference)).await;
    fake.answer("GET", &git("ref/heads/none"), refusal(404, "Not Found")).await;
    let repository = fake.repository();

    let base = repository.commit_tree("head").await.unwrap();
    let blob = repository.create_blob(b"\xffbytes").await.unwrap();
    assert_eq!(fake.last_body().await, json!({"content": "/2J5dGVz", "encoding": "base64"}));
    let files = ["kernels/softmax.py", "kernels/new.py", "fresh/new.py"];
    let files = files.map(|path| (path.to_owned(), blob.clone()));
    let tree = repository.create_tree(&base, &files).await.unwrap();
    assert_eq!(
        fake.last_body().await,
        json!({"base_tree": "root", "tree": [
            entry("kernels/softmax.py", "100755", "blob", "new"),
            entry("kernels/new.py", "100644", "blob", "new"),
            entry("fresh/new.py", "100644", "blob", "new"),
        ]})
    );
    let parents = ["head".to_owned()];
    let commit = repository.create_commit("Faster", &tree, &parents).await.unwrap();
    assert_eq!(
        fake.last_body().await,
        json!({"message": "Faster", "tree": "tree", "parents": ["head"]})
    );
    for name in ["heads/k/1", "refs/heads/k/1"] {
        repository.create_ref(name, &commit).await.unwrap();
        assert_eq!(fake.last_body().await, json!({"ref": "refs/heads/k/1", "sha": "commit"}));
        repository.update_ref(name, &commit).await.unwrap();
        assert_eq!(fake.last_body().await, json!({"sha": "commit", "force": false}));
        assert_eq!(repository.get_ref(name).await.unwrap().as_deref(), Some("commit"));
    }
    assert_eq!(repository.get_ref("heads/none").await.unwrap(), None);

    let asked = fake.asked().await.len();
    for no_file in ["link", "kernels"] {
        let files = [(no_file.to_owned(), blob.clone())];
        let error = repository.create_tree(&base, &files).await.unwrap_err();
        assert!(error.to_string().contains("no ordinary file"), "{error}");
    }
    assert_eq!(fake.asked().await.len(), asked + 2, "two reads, no write");
}

#[tokio::test]
async fn a_comment_is_folded_through_graphql() {
    for (prefix, graphql) in [("", "/graphql"), ("/api/v3", "/api/graphql")] {
        let fake = Fake::under(prefix).await;
        fake.mint_at(prefix).await;
        fake.answer_times(1, "POST", graphql, ok(json!({"data": {"minimizeComment": {}}}))).await;
        let repository = fake.repository();
        repository.minimize_comment("IC_1").await.unwrap();
        let sent = fake.last_body().await;
        assert_eq!(sent["variables"], json!({"id": "IC_1"}));
        assert!(sent["query"].as_str().unwrap().contains("classifier: OUTDATED"));

        let gone = json!({"data": null, "errors": [{"type": "NOT_FOUND", "message": "no node"}]});
        fake.answer_times(1, "POST", graphql, ok(gone)).await;
        assert_eq!(repository.minimize_comment("x").await.unwrap_err(), GitHubError::NotFound);
        let limited = json!({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit"}]});
        fake.answer_times(1, "POST", graphql, ok(limited)).await;
        let error = repository.minimize_comment("x").await.unwrap_err();
        assert!(matches!(error, GitHubError::RateLimited { .. }), "{error}");
        fake.answer("POST", graphql, ok(json!({"errors": [{"message": "no such field"}]}))).await;
        let error = repository.minimize_comment("x").await.unwrap_err();
        assert_eq!(error, GitHubError::Unprocessable("no such field".to_owned()));
    }
}

#[tokio::test]
async fn small_courtesies() {
    let fake = Fake::minting().await;
    let repo = "/repos/octo/kernels/issues";
    fake.answer("POST", &format!("{repo}/comments/9/reactions"), ok(json!({"id": 1}))).await;
    fake.answer("POST", &format!("{repo}/7/reactions"), ok(json!({"id": 1}))).await;
    fake.answer(
        "DELETE",
        &format!("{repo}/7/labels/optimize%20kernel"),
        refusal(404, "Label does not exist"),
    )
    .await;
    let repository = fake.repository();
    repository.react_to_comment(9, Reaction::Eyes).await.unwrap();
    assert_eq!(fake.last_body().await, json!({"content": "eyes"}));
    repository.react_to_issue(7, Reaction::ThumbsUp).await.unwrap();
    assert_eq!(fake.last_body().await, json!({"content": "+1"}));
    repository.remove_label(7, "optimize kernel").await.unwrap();
}
