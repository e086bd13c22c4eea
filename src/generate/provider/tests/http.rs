//! What holds for the two providers that talk to servers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::{
    servers::{DIALECTS, Dialect, Rude, ok, requests, rude, server},
    *,
};

/// What a server that gives `responses` is asked how often, and what comes of it.
async fn ask(
    dialect: Dialect,
    responses: Vec<ResponseTemplate>,
) -> (Result<Reply, ProviderError>, usize) {
    let server = server(dialect, responses).await;
    let provider = dialect.provider(&server.uri(), &limits());
    let reply = provider.ask(&question()).await;
    (reply, requests(&server).await.len())
}

fn refusal(dialect: Dialect, status: u16, kind: &str, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(dialect.error(kind, message))
}

#[tokio::test]
async fn a_server_that_recovers_is_asked_again() {
    for dialect in DIALECTS {
        let busy = [
            refusal(dialect, 429, "rate_limit_error", "Slow down")
                .insert_header("retry-after", "0"),
            refusal(dialect, 429, "rate_limit_error", "Slow down")
                .insert_header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
            refusal(dialect, 529, "overloaded_error", "Overloaded"),
            refusal(dialect, 503, "api_error", "Down for a moment"),
            ResponseTemplate::new(502).set_body_string("<html>Bad Gateway</html>"),
            refusal(dialect, 200, "overloaded_error", "Overloaded, but politely"),
            ResponseTemplate::new(200)
                .set_body_json(json!({"error": {"code": 503, "message": ""}})),
        ];
        for busy in busy {
            let (reply, asked) = ask(dialect, vec![busy, ok(&dialect.answer("Done."))]).await;
            let Ok(Reply::Answer(answer)) = reply else { panic!("{reply:?}") };
            assert_eq!((answer.text.as_str(), asked), ("Done.", 2));
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_recover_is_given_up() {
    for dialect in DIALECTS {
        let (reply, asked) = ask(dialect, vec![refusal(dialect, 500, "api_error", "Oops")]).await;
        let error = reply.unwrap_err();
        says(&error, &["status 500", "api_error: Oops", "resume the run later", "(asked 3 times)"]);
        assert_eq!((error.attempts, asked), (3, 3));
    }
}

#[tokio::test]
async fn a_server_that_wants_more_patience_than_there_is_is_not_asked_again() {
    for dialect in DIALECTS {
        let busy = refusal(dialect, 429, "rate_limit_error", "Tomorrow");
        let (reply, asked) = ask(dialect, vec![busy.insert_header("retry-after", "86400")]).await;
        says(&reply.unwrap_err(), &["Tomorrow", "asks to wait 1day"]);
        assert_eq!(asked, 1);
    }
}

#[tokio::test]
async fn what_will_not_pass_is_asked_once() {
    for dialect in DIALECTS {
        let refusals = [
            (refusal(dialect, 400, "invalid_request_error", "Too many tokens"), "Too many tokens"),
            (refusal(dialect, 402, "billing_error", "Pay first"), "top it up"),
            (refusal(dialect, 403, "permission_error", "Not for you"), "Not for you"),
            (refusal(dialect, 404, "not_found_error", "model: claude-9"), "the name of the model"),
            (refusal(dialect, 413, "request_too_large", ""), "request_too_large"),
            (refusal(dialect, 429, "insufficient_quota", "You exceeded your quota"), "top it up"),
            (refusal(dialect, 200, "invalid_request_error", "But 200"), "status 200"),
            (
                ResponseTemplate::new(422).set_body_json(json!({"detail": "No such field"})),
                "No such",
            ),
            (ResponseTemplate::new(404).set_body_string("404 page not found"), "the base URL"),
        ];
        for (refusal, advice) in refusals {
            let (reply, asked) = ask(dialect, vec![refusal]).await;
            let error = reply.unwrap_err();
            says(&error, &[advice]);
            assert_eq!((error.attempts, asked), (1, 1), "{error}");
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_is_named() {
    for dialect in DIALECTS {
        let raw =
            |text: &str, kind: &str| ResponseTemplate::new(200).set_body_raw(text.as_bytes(), kind);
        let garbage = [
            (
                raw("<html>\n<title>Log in</title>", "text/html"),
                "begins with `<html> <title>Log in",
            ),
            (raw("{\"choices\": [", "application/json"), "is not JSON"),
            (raw("", "application/json"), "its body is empty"),
            (raw("data: {\"x\": 1}\n\ndata: [DONE]\n\n", "text/event-stream"), "streams events"),
            (raw("event: message_start\ndata: {}\n\n", "text/plain"), "streams events"),
            (raw(": PROCESSING\n\n", "application/json"), "streams events"),
            (raw("{\"status\": \"fine\"}", "application/json"), "is JSON without `"),
            (raw("[]", "application/json"), "is JSON without `"),
        ];
        for (response, reason) in garbage {
            let (reply, asked) = ask(dialect, vec![response]).await;
            says(&reply.unwrap_err(), &[reason, "check that the base URL"]);
            assert_eq!(asked, 1);
        }
    }
}

#[tokio::test]
async fn an_answer_with_another_content_type_is_an_answer() {
    for dialect in DIALECTS {
        let body = format!("\n\n  {}", dialect.answer("Done."));
        let response = ResponseTemplate::new(200).set_body_raw(body, "text/plain");
        assert!(matches!(ask(dialect, vec![response]).await.0, Ok(Reply::Answer(_))));
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_tried_again_and_named() {
    let broken = rude(Rude::HangsUp).await;
    for dialect in DIALECTS {
        let error = error(&*dialect.provider(&broken, &limits()), &question()).await;
        says(&error, &["the connection to http://127.0.0.1:", "(asked 3 times)"]);
        // Nobody listens on a port that was just given back.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let base = format!("http://{free}");
        let error = super::error(&*dialect.provider(&base, &limits()), &question()).await;
        says(&error, &["refused", "check the base URL, the network and proxies"]);
        assert_eq!(error.attempts, 3);
    }
}

#[tokio::test]
async fn why_an_answer_ends_is_told() {
    for dialect in DIALECTS {
        let reasons = match dialect {
            Dialect::Anthropic => ["max_tokens", "refusal", "pause_turn"],
            Dialect::OpenAi => ["length", "content_filter", "tool_calls"],
        };
        let other = Stop::Other(reasons[2].to_owned());
        for (reason, stop) in reasons.into_iter().zip([Stop::OutputLimit, Stop::Refusal, other]) {
            let pointer = ["/stop_reason", "/choices/0/finish_reason"];
            let body = dialect.answer_with("def half", pointer, json!(reason));
            let Ok(Reply::Answer(answer)) = ask(dialect, vec![ok(&body)]).await.0 else { panic!() };
            assert_eq!((answer.text.as_str(), answer.stop), ("def half", stop));
        }
        // Reasoning may have taken all the tokens there were.
        let pointer = ["/stop_reason", "/choices/0/finish_reason"];
        let body = dialect.answer_with("", pointer, json!(reasons[0]));
        let Ok(Reply::Answer(answer)) = ask(dialect, vec![ok(&body)]).await.0 else { panic!() };
        assert_eq!((answer.text.as_str(), answer.stop), ("", Stop::OutputLimit));
    }
}

#[tokio::test]
async fn openai_refuses_in_a_field_of_its_own() {
    let mut body = Dialect::OpenAi.answer("");
    body["choices"][0]["message"] = json!({"content": null, "refusal": "I cannot help with that."});
    let Ok(Reply::Answer(answer)) = ask(Dialect::OpenAi, vec![ok(&body)]).await.0 else { panic!() };
    assert_eq!((answer.text.as_str(), answer.stop), ("I cannot help with that.", Stop::Refusal));
}

#[tokio::test]
async fn a_model_that_failed_behind_a_router_is_asked_again() {
    let mut failed = Dialect::OpenAi.answer("def ha");
    failed["choices"][0]["error"] = json!({"code": 502, "message": "Provider returned error"});
    let answered = ok(&Dialect::OpenAi.answer("Done."));
    let (reply, asked) = ask(Dialect::OpenAi, vec![ok(&failed), answered]).await;
    let Ok(Reply::Answer(answer)) = reply else { panic!("{reply:?}") };
    assert_eq!((answer.text.as_str(), asked), ("Done.", 2));
}

#[tokio::test]
async fn counts_that_cannot_be_true_are_replaced_by_an_estimate() {
    for dialect in DIALECTS {
        let output = ["/usage/output_tokens", "/usage/completion_tokens"];
        let input = ["/usage/input_tokens", "/usage/prompt_tokens"];
        let wrong = [
            (["/usage", "/usage"], Value::Null),
            (["/usage", "/usage"], json!("free")),
            (output, json!(-7)),
            (output, json!(1e18)),
            (output, json!(0)),
            (input, json!(u64::MAX)),
            (input, json!(null)),
        ];
        for (pointer, value) in wrong {
            let body = dialect.answer_with("Done.", pointer, value);
            let reply = ask(dialect, vec![ok(&body)]).await.0;
            let Ok(Reply::Answer(answer)) = reply else { panic!("{reply:?}") };
            assert_eq!(answer.counted, Counted::Estimated);
            assert_eq!(answer.usage.output, price::estimate_tokens("Done."));
        }
    }
}

#[tokio::test]
async fn anthropic_is_asked_to_keep_the_instructions() {
    let server = server(Dialect::Anthropic, vec![ok(&Dialect::Anthropic.answer("Done."))]).await;
    let provider = Dialect::Anthropic.provider(&server.uri(), &limits());
    answer(&*provider, &question()).await;
    answer(&*provider, &Conversation::new("", "Faster.")).await;
    let requests = requests(&server).await;
    let kept = json!([{
        "type": "text",
        "text": "You write Triton kernels.",
        "cache_control": {"type": "ephemeral"},
    }]);
    assert_eq!(requests[0]["system"], kept);
    assert_eq!(requests[0]["max_tokens"], 1000);
    assert_eq!(requests[0]["messages"][0]["role"], "user");
    assert_eq!(requests[1].get("system"), None, "empty texts are refused there");
}

#[tokio::test]
async fn a_gateway_to_openai_teaches_the_name_of_the_limit() {
    let message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    let refusal = refusal(Dialect::OpenAi, 400, "invalid_request_error", message);
    let answered = ok(&Dialect::OpenAi.answer("Done."));
    let server = server(Dialect::OpenAi, vec![refusal, answered]).await;
    let provider = Dialect::OpenAi.provider(&server.uri(), &limits());
    answer(&*provider, &question()).await;
    answer(&*provider, &question()).await;
    let limits: Vec<_> = requests(&server)
        .await
        .iter()
        .map(|request| (request["max_tokens"].clone(), request["max_completion_tokens"].clone()))
        .collect();
    let (old, new) = ((json!(1000), Value::Null), (Value::Null, json!(1000)));
    assert_eq!(limits, [old, new.clone(), new]);
}

#[tokio::test]
async fn a_base_url_may_be_written_in_more_than_one_way() {
    for (dialect, endings) in [
        (Dialect::Anthropic, ["", "/", "/v1", "/v1/"].as_slice()),
        (Dialect::OpenAi, &["/v1", "/v1/"]),
    ] {
        let server = server(dialect, vec![ok(&dialect.answer("Done."))]).await;
        let kind = if dialect == Dialect::Anthropic { "anthropic" } else { "openai" };
        for ending in endings {
            let provider = open(&format!("{kind}:m@{}{ending}", server.uri()), &limits());
            assert_eq!(answer(&*provider, &question()).await.text, "Done.");
        }
    }
}

#[tokio::test]
async fn a_key_is_not_carried_to_where_a_server_points() {
    let elsewhere = MockServer::start().await;
    Mock::given(any()).respond_with(ResponseTemplate::new(200)).mount(&elsewhere).await;
    for dialect in DIALECTS {
        for status in [301, 302, 307, 308] {
            let moved = ResponseTemplate::new(status).insert_header("location", elsewhere.uri());
            let (reply, asked) = ask(dialect, vec![moved]).await;
            says(&reply.unwrap_err(), &["give the final base URL", &elsewhere.uri()]);
            assert_eq!(asked, 1);
        }
    }
    assert!(elsewhere.received_requests().await.unwrap().is_empty());
}

/// Counts how many are asked at the same time.
#[derive(Debug, Default)]
struct Crowd {
    now: AtomicUsize,
    most: Arc<AtomicUsize>,
}

#[async_trait]
impl Provider for Crowd {
    fn name(&self) -> &str {
        "crowd"
    }

    fn model(&self) -> &str {
        "none"
    }

    async fn ask(&self, _: &Conversation) -> Result<Reply, ProviderError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(Reply::Awaited)
    }
}

#[tokio::test]
async fn no_more_are_asked_at_once_than_allowed() {
    let crowd = Crowd::default();
    let most = crowd.most.clone();
    let three = std::num::NonZeroUsize::new(3).unwrap();
    let limited = Arc::new(limited::Limited::new(crowd, Limits { concurrency: three, ..limits() }));
    let calls: Vec<_> = (0..12)
        .map(|_| {
            let limited = limited.clone();
            tokio::spawn(async move { limited.ask(&question()).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}
