//! Lists: every page, and only GitHub's.

use std::time::Duration;

use kernelbrain::github::{GitHubError, WallClock as _};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path, query_param},
};

use crate::fake::{Fake, comment, ok, status};

const COMMENTS: &str = "/repos/octo/kernels/issues/7/comments";

#[tokio::test]
async fn a_list_is_read_to_its_end() {
    let fake = Fake::minting().await;
    let uri = fake.server.uri();
    // A cursor: whoever counts pages instead does not get here.
    let page = |cursor: &str| {
        Mock::given(method("GET")).and(path(COMMENTS)).and(query_param("after", cursor))
    };
    page("x2").respond_with(ok(json!([comment(3, "c")]))).mount(&fake.server).await;
    let next = format!("<{uri}{COMMENTS}?after=x2>; rel=\"next\"");
    page("x1")
        .respond_with(ok(json!([comment(2, "b")])).insert_header("link", next))
        .mount(&fake.server)
        .await;
    let next = format!("<{uri}{COMMENTS}?after=x1>; rel=\"next\", <{uri}/x>; rel=\"last\"");
    fake.answer("GET", COMMENTS, ok(json!([comment(1, "a")])).insert_header("link", next)).await;

    let comments = fake.repository().comments(7).await.unwrap();

    assert_eq!(comments.iter().map(|it| it.id).collect::<Vec<_>>(), [1, 2, 3]);
    let asked = fake.asked().await;
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0], format!("GET {COMMENTS}?per_page=100"));
}

#[tokio::test]
async fn a_next_page_elsewhere_gets_no_token() {
    let fake = Fake::minting().await;
    let thief = MockServer::start().await;
    let next = format!("<{}/more>; rel=\"next\"", thief.uri());
    fake.answer("GET", COMMENTS, ok(json!([])).insert_header("link", next)).await;

    let error = fake.repository().comments(7).await.unwrap_err();

    assert!(matches!(error, GitHubError::Invalid(_)), "{error}");
    assert_eq!(thief.received_requests().await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_list_without_an_end_is_an_error() {
    let fake = Fake::minting().await;
    let next = format!("<{}{COMMENTS}>; rel=\"next\"", fake.server.uri());
    fake.answer("GET", COMMENTS, ok(json!([])).insert_header("link", next)).await;
    let error = fake.repository().comments(7).await.unwrap_err();
    assert!(error.to_string().contains("more than 100 pages"), "{error}");
}

#[tokio::test]
async fn only_our_own_check_runs_of_that_name_count() {
    let fake = Fake::minting().await;
    let sha = "a".repeat(40);
    let run = |id: u64, name: &str, app: Value| {
        json!({"id": id, "name": name, "head_sha": sha, "external_id": "job", "status": "completed",
            "conclusion": "startup_failure", "app": app, "html_url": null})
    };
    let ours = json!({"id": 4711});
    let body = json!({"total_count": 4, "check_runs": [
        run(1, "kernelbrain", ours.clone()), run(2, "kernelbrain", json!({"id": 15368})),
        run(3, "kernelbrain", Value::Null), run(4, "lint", ours.clone()),
        run(5, "kernelbrain", ours),
    ]});
    fake.answer("GET", &format!("/repos/octo/kernels/commits/{sha}/check-runs"), ok(body)).await;

    let runs = fake.repository().check_runs(&sha, "kernelbrain").await.unwrap();

    assert_eq!(runs.iter().map(|it| it.id).collect::<Vec<_>>(), [5, 1]);
    assert_eq!(runs[0].external_id.as_deref(), Some("job"));
    let asked = &fake.asked().await[0];
    assert!(
        asked.ends_with("?check_name=kernelbrain&filter=all&app_id=4711&per_page=100"),
        "{asked}"
    );
}

#[tokio::test]
async fn deliveries_that_never_arrived_are_found() {
    let fake = Fake::silent().await;
    let now = fake.clock.now();
    let delivery = |id: u64, guid: &str, minutes: u64, code: u16| {
        let at = now - Duration::from_secs(60 * minutes);
        json!({"id": id, "guid": guid, "status_code": code, "status": "whatever", "event": "push",
            "delivered_at": humantime::format_rfc3339_seconds(at).to_string(), "action": null,
            "redelivery": false, "duration": 0.1, "installation_id": 55, "repository_id": null})
    };
    let deliveries = "/app/hook/deliveries";
    let second = json!([
        delivery(4, "healed", 40, 502),
        delivery(3, "lost", 50, 0),
        delivery(2, "too-old", 70, 500),
    ]);
    Mock::given(method("GET"))
        .and(path(deliveries))
        .and(query_param("cursor", "c"))
        .respond_with(
            // Nobody follows this: the page above is older than what is asked for.
            ok(second).insert_header("link", "</app/hook/deliveries?cursor=d>; rel=\"next\""),
        )
        .mount(&fake.server)
        .await;
    let first = json!([
        delivery(8, "fine", 1, 202),
        delivery(7, "lost", 5, 500),
        delivery(6, "healed", 10, 200),
        delivery(5, "slow", 20, 504),
    ]);
    let link = "</app/hook/deliveries?cursor=c>; rel=\"next\"";
    fake.answer("GET", deliveries, ok(first).insert_header("link", link)).await;

    let failed = fake.github.failed_deliveries(now - Duration::from_secs(3600)).await.unwrap();

    let found: Vec<_> = failed.iter().map(|it| (it.id, it.guid.as_str())).collect();
    assert_eq!(found, [(5, "slow"), (7, "lost")]);
    assert_eq!(fake.asked().await.len(), 2);

    let again = "/app/hook/deliveries/7/attempts";
    fake.answer("POST", again, status(202).set_body_json(json!({}))).await;
    fake.github.redeliver(7).await.unwrap();
    assert_eq!(fake.asked().await.last().unwrap(), &format!("POST {again}"));
}

#[tokio::test]
async fn a_page_that_is_no_list_is_an_error() {
    let fake = Fake::minting().await;
    fake.answer("GET", COMMENTS, ResponseTemplate::new(200).set_body_string("<html>")).await;
    let error = fake.repository().comments(7).await.unwrap_err();
    assert!(matches!(error, GitHubError::Invalid(_)), "{error}");
}
