//! Repositories are renamed. Reads follow; a write follows where GitHub says to repeat it.

use kernelbrain::github::GitHubError;
use serde_json::json;
use wiremock::MockServer;

use crate::fake::{Fake, comment, ok, pull, status};

const PULL: &str = "/repos/octo/kernels/pulls/7";
const COMMENTS: &str = "/repos/octo/kernels/issues/7/comments";
const NEW_COMMENTS: &str = "/repositories/1/issues/7/comments";

#[tokio::test]
async fn a_read_follows() {
    for code in [301, 302, 307] {
        let fake = Fake::minting().await;
        let there = format!("{}/repositories/1/pulls/7", fake.server.uri());
        fake.answer("GET", PULL, status(code).insert_header("location", there)).await;
        fake.answer("GET", "/repositories/1/pulls/7", ok(pull(7))).await;
        assert_eq!(fake.repository().pull(7).await.unwrap().number, 7);
    }
}

#[tokio::test]
async fn a_write_is_repeated_where_it_is_said_to_and_stays_a_write() {
    for code in [307, 308] {
        let fake = Fake::minting().await;
        fake.answer("POST", COMMENTS, status(code).insert_header("location", NEW_COMMENTS)).await;
        fake.answer("POST", NEW_COMMENTS, status(201).set_body_json(comment(1, "hi"))).await;
        assert_eq!(fake.repository().create_comment(7, "hi").await.unwrap().id, 1);
        assert_eq!(fake.last_body().await, json!({"body": "hi"}));
    }
}

#[tokio::test]
async fn a_write_does_not_become_a_read() {
    for code in [301, 302, 303] {
        let fake = Fake::minting().await;
        fake.answer("POST", COMMENTS, status(code).insert_header("location", NEW_COMMENTS)).await;
        fake.answer("GET", NEW_COMMENTS, ok(comment(1, "not what was said"))).await;
        let error = fake.repository().create_comment(7, "hi").await.unwrap_err();
        assert!(matches!(&error, GitHubError::Unprocessable(_)), "{error}");
        assert!(error.to_string().contains("moved"), "{error}");
        assert_eq!(fake.asked().await.len(), 1);
    }
}

#[tokio::test]
async fn nothing_follows_to_another_host() {
    let fake = Fake::minting().await;
    let thief = MockServer::start().await;
    let there = format!("{}/repos", thief.uri());
    fake.answer("GET", PULL, status(302).insert_header("location", there)).await;
    let error = fake.repository().pull(7).await.unwrap_err();
    assert!(matches!(&error, GitHubError::Invalid(_)), "{error}");
    assert_eq!(thief.received_requests().await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_circle_ends() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, status(302).insert_header("location", PULL)).await;
    let error = fake.repository().pull(7).await.unwrap_err();
    assert!(error.to_string().contains("redirects"), "{error}");
    assert_eq!(fake.asked().await.len(), 6);
}
