//! Who is let in.

use crate::service::{OTHER_SECRET, SECRET, Service, answer, delivery, metrics, sign};

const PING: &[u8] = br#"{"zen":"Design for failure.","hook_id":1}"#;

#[tokio::test(flavor = "multi_thread")]
async fn github_is_let_in_by_any_secret_it_may_still_use() {
    let service = Service::start().await;
    for (id, secret) in [("new", SECRET), ("old", OTHER_SECRET)] {
        let signature = sign(secret, PING);
        let answer = service.deliver_signed("ping", id, PING, Some(&signature)).await;
        assert_eq!(answer, (202, "kept\n".to_owned()));
        assert_eq!(service.outcome(id).await, "done");
    }
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_else_is_turned_away_and_leaves_no_trace() {
    let service = Service::start().await;
    let good = sign(SECRET, PING);
    let wrong = [
        Some(sign("a secret that was taken out long ago", PING)),
        Some(sign("", PING)),
        Some(sign(SECRET, b"another body")),
        Some(good.replace("sha256=", "sha1=")),
        Some(good.replace("sha256=", "")),
        Some(good[..good.len() - 2].to_owned()),
        Some("sha256=".to_owned()),
        Some("x".repeat(5000)),
        None,
    ];
    for signature in wrong {
        let answer = service.deliver_signed("ping", "forged", PING, signature.as_deref()).await;
        assert_eq!(answer, (401, "the signature does not match\n".to_owned()), "{signature:?}");
    }
    assert_eq!(service.rows("forged").await, 0);
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_are_what_is_signed_not_what_they_mean() {
    let service = Service::start().await;
    let signature = sign(SECRET, br#"{"a":1}"#);
    let answer = service.deliver_signed("ping", "spaced", br#"{"a": 1}"#, Some(&signature)).await;
    assert_eq!(answer.0, 401);
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_comes_twice_is_kept_once() {
    let service = Service::start().await;
    assert_eq!(service.deliver("ping", "twice", PING).await, (202, "kept\n".to_owned()));
    assert_eq!(service.deliver("ping", "twice", PING).await, (202, "known\n".to_owned()));
    assert_eq!(service.outcome("twice").await, "done");
    assert_eq!(service.deliver("ping", "twice", PING).await, (202, "known\n".to_owned()));
    assert_eq!(service.rows("twice").await, 1);

    // At the same moment, too.
    let signature = sign(SECRET, PING);
    let url = service.url("/webhook");
    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let sent = delivery(&service.client, &url, "ping", "crowd", PING, Some(&signature));
        crowd.spawn(answer(sent));
    }
    let said: Vec<String> = crowd.join_all().await.into_iter().map(|answer| answer.1).collect();
    assert_eq!(said.iter().filter(|text| *text == "kept\n").count(), 1, "{said:?}");
    assert_eq!(service.rows("crowd").await, 1);
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_gets_another_chance_when_it_comes_again() {
    let service = Service::start().await;
    let body = b"not JSON";
    assert_eq!(service.deliver("pull_request", "again", body).await.1, "kept\n");
    let why = service.outcome("again").await;
    assert!(why.starts_with("the body of this pull_request delivery cannot be read"), "{why}");
    assert_eq!(service.deliver("pull_request", "again", body).await.1, "kept again\n");
    assert_eq!(service.outcome("again").await, why);
    assert_eq!(service.rows("again").await, 1);
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_says_what_it_is() {
    let service = Service::start().await;
    let long = "x".repeat(101);
    for id in ["", &long, "a b", "'; DROP TABLE deliveries; --"] {
        let answer = service.deliver("ping", id, PING).await;
        assert_eq!(answer, (400, "no X-GitHub-Delivery\n".to_owned()), "{id}");
    }
    for event in ["", &long, "pull request"] {
        let answer = service.deliver(event, "nameless", PING).await;
        assert_eq!(answer, (400, "no X-GitHub-Event\n".to_owned()), "{event}");
    }
    assert_eq!(service.rows("nameless").await, 0);
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn other_doors_stay_shut() {
    let service = Service::start().await;
    assert_eq!(service.get("/webhook").await.0, 405);
    assert_eq!(service.get("/").await.0, 404);
    let grant = service.client.post(service.url("/runner/grant")).body("{}");
    assert_eq!(answer(grant).await.0, 404, "no remote runners, no such door");
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_tells_how_it_is() {
    let service = Service::start().await;
    assert_eq!(service.get("/healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(service.get("/readyz").await, (200, "ready\n".to_owned()));
    let before = counted("202");
    service.deliver("ping", "counted", PING).await;
    assert!(counted("202") > before);
    service.deliver_signed("ping", "counted", PING, None).await;
    assert!(counted("401") > 0);
    let (status, text) = service.get("/metrics").await;
    assert_eq!(status, 200);
    for line in ["kernelbrain_jobs{state=\"queued\"} 0", "kernelbrain_effects_owed 0"] {
        assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
    }
    assert!(text.contains("# TYPE kernelbrain_deliveries_total counter"), "{text}");
    assert!(!text.contains("counted"), "no delivery has a series of its own");
    service.github.finish();
}

/// Deliveries that were answered so, by every service of this process.
fn counted(status: &str) -> u64 {
    let name = format!("kernelbrain_deliveries_total{{status=\"{status}\"}} ");
    let text = metrics().render();
    let value = text.lines().find_map(|line| line.strip_prefix(&name));
    value.map_or(0, |value| value.parse().unwrap())
}
