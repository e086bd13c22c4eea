//! What GitHub says, read with as little trust and as few expectations as possible.

use kernelbrain::github::{GitHubError, MAX_CONTENT_BYTES, Permission, PullState};
use serde_json::{Value, json};
use wiremock::{
    Mock,
    matchers::{header, method, path, query_param},
};

use crate::{
    common::{INSTALLATION, REPOSITORY, TestClock, github_at},
    fake::{Fake, ok, pull, refusal, status},
};

const PULL: &str = "/repos/octo/kernels/pulls/7";

#[tokio::test]
async fn a_pull_request_is_read() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, ok(pull(7))).await;
    let read = fake.repository().pull(7).await.unwrap();
    assert_eq!((read.state, read.merged, read.draft), (PullState::Open, false, false));
    assert_eq!((read.head.reference.as_str(), read.base.reference.as_str()), ("fast", "main"));
    assert_eq!(read.user.login, "mona");
    assert!(read.has_label("optimize-kernel") && !read.is_from_fork());
}

#[tokio::test]
async fn a_deleted_fork_and_a_deleted_account_are_no_surprise() {
    let fake = Fake::minting().await;
    let mut odd = pull(7);
    odd["head"]["repo"] = Value::Null;
    odd["user"] = Value::Null;
    odd["state"] = "closed".into();
    fake.answer("GET", PULL, ok(odd)).await;
    let read = fake.repository().pull(7).await.unwrap();
    assert_eq!((read.head.repo.clone(), read.user.login.as_str()), (None, "ghost"));
    assert!(read.is_from_fork() && read.state == PullState::Closed);
}

#[tokio::test]
async fn a_fork_of_a_fork_is_told_by_its_number() {
    let fake = Fake::minting().await;
    let mut fork = pull(7);
    fork["head"]["repo"] = json!({"id": 99, "full_name": "octo/kernels", "fork": false});
    fake.answer("GET", PULL, ok(fork)).await;
    assert!(fake.repository().pull(7).await.unwrap().is_from_fork());
}

#[tokio::test]
async fn a_pull_request_in_a_list_says_otherwise_that_it_is_merged() {
    let fake = Fake::minting().await;
    let mut merged = pull(7);
    for alone in ["merged", "maintainer_can_modify"] {
        merged.as_object_mut().unwrap().remove(alone);
    }
    merged["merged_at"] = "2026-01-31T12:00:00Z".into();
    let mut other = pull(8);
    other["head"]["ref"] = "else".into();
    fake.answer("GET", "/repos/octo/kernels/pulls", ok(json!([merged, other]))).await;
    let found = fake.repository().pulls_with_head("fast").await.unwrap();
    assert_eq!(found.iter().map(|it| (it.number, it.merged)).collect::<Vec<_>>(), [(7, true)]);
    let asked = fake.asked().await;
    assert!(asked[0].ends_with("?head=octo%3Afast&state=all&per_page=100"), "{asked:?}");
}

#[tokio::test]
async fn files_may_lack_a_patch() {
    let fake = Fake::minting().await;
    let files = json!([
        {"filename": "a.py", "status": "modified", "patch": "@@ -1 +1 @@\n-a\n+b", "sha": "1"},
        {"filename": "b.bin", "status": "renamed", "previous_filename": "c.bin", "sha": null},
    ]);
    fake.answer("GET", &format!("{PULL}/files"), ok(files)).await;
    let files = fake.repository().pull_files(7).await.unwrap();
    assert!(files[0].patch.is_some() && files[1].patch.is_none());
    assert_eq!(files[1].previous_filename.as_deref(), Some("c.bin"));
}

#[tokio::test]
async fn who_is_not_known_to_be_allowed_is_not() {
    for (word, permission) in [
        ("admin", Permission::Admin),
        ("write", Permission::Write),
        ("read", Permission::Read),
        ("none", Permission::None),
        ("owner-of-the-universe", Permission::None),
    ] {
        let fake = Fake::minting().await;
        let body = json!({"permission": word, "role_name": "admin", "user": null});
        let path = "/repos/octo/kernels/collaborators/mona%5Bbot%5D/permission";
        fake.answer("GET", path, ok(body)).await;
        assert_eq!(fake.repository().permission("mona[bot]").await.unwrap(), permission);
    }
    let fake = Fake::minting().await;
    let path = "/repos/octo/kernels/collaborators/mona/permission";
    fake.answer_times(1, "GET", path, refusal(404, "mona is not a user")).await;
    assert_eq!(fake.repository().permission("mona").await.unwrap(), Permission::None);
    fake.answer("GET", path, ok(json!({}))).await;
    assert!(fake.repository().permission("mona").await.is_err());
    assert!(Permission::Write > Permission::Read && Permission::Admin > Permission::Write);
}

#[tokio::test]
async fn a_file_comes_byte_for_byte() {
    let fake = Fake::minting().await;
    let raw = "application/vnd.github.raw+json";
    let bytes = b"\xff\r\n\0".to_vec();
    Mock::given(method("GET"))
        .and(path("/repos/octo/kernels/contents/a%20b/k%23.py"))
        .and(query_param("ref", "main&x"))
        .and(header("accept", raw))
        .respond_with(status(200).set_body_raw(bytes.clone(), raw))
        .mount(&fake.server)
        .await;
    let read = fake.repository().content("a b/k#.py", "main&x").await.unwrap();
    assert_eq!(read, Some(bytes));
}

#[tokio::test]
async fn what_is_no_file_is_none() {
    let fake = Fake::minting().await;
    let contents = |path: &str| format!("/repos/octo/kernels/contents/{path}");
    fake.answer("GET", &contents("folder"), ok(json!([]))).await;
    fake.answer("GET", &contents("none.py"), refusal(404, "Not Found")).await;
    let repository = fake.repository();
    assert_eq!(repository.content("folder", "main").await.unwrap(), None);
    assert_eq!(repository.content("none.py", "main").await.unwrap(), None);
    let asked = fake.asked().await.len();
    for outside in ["../x", "a/../../x", "/etc/passwd", "", "a//b", "./a"] {
        let error = repository.content(outside, "main").await.unwrap_err();
        assert!(matches!(error, GitHubError::Unprocessable(_)), "{outside}: {error}");
    }
    assert_eq!(fake.asked().await.len(), asked);
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_swallowed() {
    let raw = "application/vnd.github.raw+json";
    for (size, fits) in [(MAX_CONTENT_BYTES, true), (MAX_CONTENT_BYTES + 1, false)] {
        let fake = Fake::minting().await;
        let answer = status(200).set_body_raw(vec![b'x'; size], raw);
        fake.answer("GET", "/repos/octo/kernels/contents/big.py", answer).await;
        let read = fake.repository().content("big.py", "main").await;
        assert_eq!(read.is_ok(), fits, "{size}");
    }
}

#[tokio::test]
async fn the_merge_base_is_asked_for() {
    let fake = Fake::minting().await;
    let body = json!({"merge_base_commit": {"sha": "c0ffee"}, "files": []});
    fake.answer("GET", "/repos/octo/kernels/compare/main...you%3Afast", ok(body)).await;
    assert_eq!(fake.repository().merge_base("main", "you:fast").await.unwrap(), "c0ffee");
}

#[tokio::test]
async fn kinds_of_refusal() {
    for (code, error) in [
        (404, GitHubError::NotFound),
        (410, GitHubError::Gone),
        (409, GitHubError::Unprocessable("Git Repository is empty.".to_owned())),
    ] {
        let fake = Fake::minting().await;
        fake.answer("GET", PULL, refusal(code, "Git Repository is empty.")).await;
        assert_eq!(fake.repository().pull(7).await.unwrap_err(), error);
    }
}

#[tokio::test]
async fn a_name_that_is_none_reaches_nobody() {
    let fake = Fake::minting().await;
    for name in ["", "octo", "octo/", "octo/a/b", "octo/..", "octo/a?b", "öcto/a"] {
        let repository = fake.github.repository(INSTALLATION, REPOSITORY, name);
        let error = repository.pull(7).await.unwrap_err();
        assert!(error.to_string().contains("owner/name"), "{name}: {error}");
    }
    assert!(fake.requests().await.is_empty());
}

#[tokio::test]
async fn enterprise_servers_answer_elsewhere() {
    let fake = Fake::under("/api/v3").await;
    fake.mint_at("/api/v3").await;
    fake.answer("GET", &format!("/api/v3{PULL}"), ok(pull(7))).await;
    fake.repository().pull(7).await.unwrap();
    assert_eq!(fake.github.git_base(), fake.server.uri());
    let elsewhere = fake.github.clone().with_git_base("http://127.0.0.1:9/git/");
    assert_eq!(elsewhere.git_base(), "http://127.0.0.1:9/git");
    let dotcom = github_at("https://api.github.com", &TestClock::new());
    assert_eq!(dotcom.git_base(), "https://github.com");
}
