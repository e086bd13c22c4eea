//! 403 and 429: too much, or not allowed.

use std::time::{Duration, SystemTime};

use kernelbrain::github::{GitHubError, WallClock as _};
use wiremock::ResponseTemplate;

use crate::{
    common::INSTALLATION,
    fake::{Fake, ok, pull, refusal},
};

const PULL: &str = "/repos/octo/kernels/pulls/7";
const COMMENTS: &str = "/repos/octo/kernels/issues/7/comments";
const SECONDARY: &str = "You have exceeded a secondary rate limit.";

/// What a comment meets where GitHub answers so; it was sent once.
async fn refused(answer: ResponseTemplate) -> (GitHubError, SystemTime) {
    let fake = Fake::minting().await;
    fake.answer("POST", COMMENTS, answer).await;
    let error = fake.repository().create_comment(7, "hi").await.unwrap_err();
    assert_eq!(fake.asked().await.len(), 1);
    (error, fake.clock.now())
}

fn wait((error, now): (GitHubError, SystemTime)) -> Duration {
    let GitHubError::RateLimited { until } = error else { panic!("{error}") };
    assert_eq!(error.retry_at(1, now), Some(until));
    until.duration_since(now).unwrap()
}

#[tokio::test]
async fn retry_after_is_obeyed() {
    for code in [403, 429] {
        let answer = refusal(code, SECONDARY)
            .insert_header("retry-after", "17")
            .insert_header("x-ratelimit-remaining", "0")
            .insert_header("x-ratelimit-reset", "1");
        assert_eq!(wait(refused(answer).await), Duration::from_secs(17));
    }
}

#[tokio::test]
async fn an_empty_quota_is_waited_for_by_githubs_clock() {
    // Their clock is an hour behind ours, and the quota is full in ten minutes.
    let theirs = 1_700_000_000;
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(theirs);
    for code in [403, 429] {
        let answer = refusal(code, "API rate limit exceeded for installation ID 55.")
            .insert_header("date", httpdate::fmt_http_date(date))
            .insert_header("x-ratelimit-remaining", "0")
            .insert_header("x-ratelimit-reset", (theirs + 600).to_string());
        assert_eq!(wait(refused(answer).await), Duration::from_secs(601));
    }
}

#[tokio::test]
async fn without_a_time_it_is_a_minute() {
    for answer in [refusal(403, SECONDARY), refusal(429, "slow down"), ResponseTemplate::new(429)] {
        assert_eq!(wait(refused(answer).await), Duration::from_secs(60));
    }
}

#[tokio::test]
async fn and_twice_as_long_with_every_refusal_in_a_row() {
    let fake = Fake::minting().await;
    fake.answer("POST", COMMENTS, refusal(403, SECONDARY)).await;
    fake.answer("GET", PULL, ok(pull(7))).await;
    let repository = fake.repository();
    for minutes in [1, 2, 4] {
        let error = repository.create_comment(7, "hi").await.unwrap_err();
        let waited = wait((error, fake.clock.now()));
        assert_eq!(waited, Duration::from_secs(60 * minutes));
        fake.clock.pass(waited);
        // What is read meanwhile says nothing of the limit on writing.
        repository.pull(7).await.unwrap();
    }
}

#[tokio::test]
async fn a_permission_is_not_waited_for() {
    let answer = refusal(403, "Resource not accessible by integration")
        .insert_header("x-accepted-github-permissions", "issues=write; pull_requests=write")
        .insert_header("x-ratelimit-remaining", "4999")
        .insert_header("x-ratelimit-reset", "1700000000");
    let (error, now) = refused(answer).await;
    assert!(matches!(&error, GitHubError::Forbidden(_)), "{error}");
    assert_eq!(error.retry_at(1, now), None);
    for said in ["Resource not accessible by integration", "issues=write; pull_requests=write"] {
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[tokio::test]
async fn a_read_that_is_limited_is_not_repeated_either() {
    let fake = Fake::minting().await;
    fake.answer("GET", PULL, refusal(429, SECONDARY).insert_header("retry-after", "5")).await;
    let error = fake.repository().pull(7).await.unwrap_err();
    assert!(matches!(error, GitHubError::RateLimited { .. }), "{error}");
    assert_eq!(fake.asked().await.len(), 1);
}

#[tokio::test]
async fn what_is_left_of_the_hour_is_known() {
    let fake = Fake::minting().await;
    let answer = ok(pull(7))
        .insert_header("x-ratelimit-limit", "5000")
        .insert_header("x-ratelimit-remaining", "42")
        .insert_header("x-ratelimit-reset", "1700000000");
    fake.answer("GET", PULL, answer).await;
    assert_eq!(fake.github.quota(INSTALLATION), None);
    fake.repository().pull(7).await.unwrap();
    let quota = fake.github.quota(INSTALLATION).unwrap();
    assert_eq!((quota.limit, quota.remaining), (5000, 42));
}
