//! The HTTP side: one listener, every request logged, faults around the answer.

use std::io::Read;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::api::{self, Answer, Call};
use super::faults::Fault;
use super::state::Logged;
use super::world::World;
use super::{Inner, upload_pack, webhook};

/// Ends the threads when it goes, also from within another runtime.
pub struct Running(Option<Runtime>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

pub fn start(prefix: &str) -> (Arc<Inner>, Running) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    let inner =
        Arc::new(Inner { world: Mutex::new(World::new(site, prefix)), wake: Notify::new() });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .thread_name("github")
        .build()
        .unwrap();
    let router = Router::new().fallback(handle).with_state(inner.clone());
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, router).await.unwrap();
    });
    runtime.spawn(webhook::deliver(inner.clone()));
    (inner, Running(Some(runtime)))
}

async fn handle(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let header = |name: &str| {
        parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let body = if header("content-encoding").as_deref() == Some("gzip") {
        gunzipped(&body)
    } else {
        body.to_vec()
    };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let prefix = inner.world().prefix.clone();
    let call = Call {
        method: parts.method.to_string(),
        path: path.strip_prefix(&prefix).unwrap_or(&path).to_owned(),
        accept: header("accept").unwrap_or_default(),
        authorization: header("authorization"),
        user_agent: header("user-agent"),
        git_protocol: header("git-protocol"),
        if_none_match: header("if-none-match"),
        body,
    };
    let fault = inner.world().faults.next(&call.method, &call.path);
    let (answer, cut) = with_fault(&inner, &call, fault).await;
    inner.wake.notify_one();
    {
        let mut world = inner.world();
        let status = if cut { 0 } else { answer.status };
        let body = String::from_utf8_lossy(&call.body).into_owned();
        world.log.push(Logged { method: call.method, path: call.path, body, status });
    }
    if cut {
        // Ends the connection's task, and with it the connection, without a word of an answer.
        std::panic::resume_unwind(Box::new("connection cut"));
    }
    respond(&inner, answer)
}

/// Git packs longer requests.
fn gunzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

async fn with_fault(inner: &Inner, call: &Call, fault: Option<Fault>) -> (Answer, bool) {
    let limited = |status, message: &str, retry_after: u64| {
        Answer::error(status, message).with("retry-after", retry_after.to_string())
    };
    let server_error = || Answer::error(500, "Server Error");
    match fault {
        Some(Fault::TooMany { retry_after }) => {
            (limited(429, "You have exceeded a secondary rate limit.", retry_after), false)
        }
        Some(Fault::Secondary { retry_after }) => (
            limited(
                403,
                "You have exceeded a secondary rate limit. Please wait a few minutes.",
                retry_after,
            ),
            false,
        ),
        Some(Fault::Exhausted { in_s }) => {
            let reset = inner.world().now() + in_s;
            let answer = Answer::error(403, "API rate limit exceeded for installation.")
                .with("x-ratelimit-remaining", "0".into())
                .with("x-ratelimit-reset", reset.to_string());
            (answer, false)
        }
        Some(Fault::Status(status)) => (Answer::error(status, "Trouble"), false),
        Some(Fault::ErrorBefore) => (server_error(), false),
        Some(Fault::DropBefore) => (server_error(), true),
        Some(Fault::ErrorAfter) => {
            dispatch(inner, call);
            (server_error(), false)
        }
        Some(Fault::DropAfter) => {
            dispatch(inner, call);
            (server_error(), true)
        }
        Some(Fault::ExpireTokens) => {
            inner.world().expire_tokens();
            (dispatch(inner, call), false)
        }
        Some(Fault::Delay(time)) => {
            tokio::time::sleep(time).await;
            (dispatch(inner, call), false)
        }
        None => (dispatch(inner, call), false),
    }
}

fn dispatch(inner: &Inner, call: &Call) -> Answer {
    let mut world = inner.world();
    if let Some(answer) = upload_pack::answer(&world, call) {
        return answer;
    }
    api::answer(&mut world, call)
}

fn respond(inner: &Inner, answer: Answer) -> Response {
    let now = inner.world().now();
    let mut response = Response::builder()
        .status(answer.status)
        .header("x-github-request-id", "0000:000000:0000000:0000000:00000000")
        .header("date", httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_secs(now)));
    let has = |name: &str| answer.headers.iter().any(|(there, _)| there == name);
    if !has("x-ratelimit-remaining") {
        response = response
            .header("x-ratelimit-limit", "5000")
            .header("x-ratelimit-remaining", "4990")
            .header("x-ratelimit-reset", (now + 3600).to_string());
    }
    if !has("content-type") {
        response = response.header("content-type", "application/json; charset=utf-8");
    }
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(answer.body)).unwrap()
}
