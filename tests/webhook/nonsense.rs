//! Signed nonsense: kept, looked at, given up, and the next delivery has its turn.

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use crate::{mutation::mutated, payloads, service::Service};

const LARGEST: usize = 25 << 20;

/// The queue is not stuck behind what came before.
async fn still_works(service: &Service) {
    assert_eq!(service.deliver("ping", "the-next", b"{}").await.0, 202);
    assert_eq!(service.outcome("the-next").await, "done");
    assert_eq!(service.get("/readyz").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_says_nothing_is_given_up_with_the_reason() {
    let service = Service::start().await;
    let deep = [b"{\"a\":".repeat(100_000), b"[".repeat(100_000)].concat();
    let huge = format!(r#"{{"action":"labeled","number":1{}}}"#, "0".repeat(10_000));
    let hidden = [br#"{"action":"labeled","sender":"#.to_vec(), b"[".repeat(100_000)].concat();
    let bodies: [(&str, &[u8]); 10] = [
        ("empty", b""),
        ("a-form", b"payload=%7B%22action%22%3A%22labeled%22%7D"),
        ("half", br#"{"action":"labeled","number":1,"#),
        ("a-list", b"[]"),
        ("null", b"null"),
        ("not-utf8", b"{\"action\":\"\xff\xfe\"}"),
        ("deep", &deep),
        ("deep-inside", &hidden),
        ("huge-number", huge.as_bytes()),
        ("negative", br#"{"action":"labeled","number":-1,"repository":{"id":1e400}}"#),
    ];
    for (name, body) in bodies {
        for event in ["pull_request", "issue_comment", "check_run", "installation"] {
            let id = format!("{event}-{name}");
            assert_eq!(service.deliver(event, &id, body).await.0, 202, "{id}");
            let why = service.outcome(&id).await;
            assert!(why.contains(&format!("this {event} delivery cannot be read")), "{id}: {why}");
        }
        // Of an event that nobody looks into it does not matter.
        assert_eq!(service.deliver("push", &format!("push-{name}"), body).await.0, 202);
        assert_eq!(service.outcome(&format!("push-{name}")).await, "done");
    }
    still_works(&service).await;
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_beyond_any_that_there_are_find_nothing() {
    let service = Service::start().await;
    for (name, number) in [("most", u64::MAX), ("half", 1 << 63), ("zero", 0)] {
        let body = format!(
            r#"{{"action":"labeled","number":{number},"label":{{"name":"optimize-kernel"}},
                "repository":{{"id":{number},"full_name":"acme/kernels"}},
                "installation":{{"id":{number}}},"sender":{{"login":"mona","type":"User"}}}}"#
        );
        assert_eq!(service.deliver("pull_request", name, body.as_bytes()).await.0, 202);
        assert_eq!(service.outcome(name).await, "done");
    }
    still_works(&service).await;
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_actions_of_tomorrow_are_taken_and_ignored() {
    let service = Service::start().await;
    let body = br#"{"action":"teleported","number":1,"issue":{"number":1,"pull_request":{}},
        "comment":{"id":1},"check_run":{},"repository":{"id":1,"full_name":"acme/kernels"},
        "installation":{"id":1},"sender":{"login":"mona","type":"User"}}"#;
    for event in ["pull_request", "issue_comment", "check_run", "installation", "merge_queue_v2"] {
        assert_eq!(service.deliver(event, event, body).await.0, 202);
        assert_eq!(service.outcome(event).await, "done");
    }
    assert!(service.github.requests().is_empty(), "nothing of it is worth a question");
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_larger_than_any_of_githubs_is_turned_away() {
    let service = Service::start().await;
    let body = vec![b' '; LARGEST + 1];
    // Its signature is not looked at, so this one will do.
    let answer = service.deliver_signed("ping", "too-large", &body, Some("sha256=")).await;
    assert_eq!(answer.0, 413);
    assert_eq!(service.rows("too-large").await, 0);

    let large = format!(r#"{{"zen":"{}"}}"#, "x".repeat(2 << 20));
    assert_eq!(service.deliver("ping", "large", large.as_bytes()).await.0, 202);
    assert_eq!(service.outcome("large").await, "done");
    service.github.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_payloads_gone_wrong_leave_the_queue_as_it_was() {
    let service = Service::start().await;
    let payloads = payloads::all();
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut ids = Vec::new();
    for round in 0..100 {
        let payload = &payloads[round % payloads.len()];
        let id = format!("{round}-{}", payload.name);
        let body = mutated(&payload.body, &mut random);
        assert_eq!(service.deliver(&payload.event, &id, &body).await.0, 202, "{id}");
        ids.push(id);
    }
    let mut done = 0;
    for id in &ids {
        done += usize::from(service.outcome(id).await == "done");
    }
    assert!(done > 0 && done < ids.len(), "some can be read, others cannot: {done}");
    assert_eq!(service.jobs().await, 0);
    still_works(&service).await;
    service.github.finish();
}
