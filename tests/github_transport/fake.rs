//! A GitHub that answers as it is told and remembers what it was asked.

use std::time::Duration;

use kernelbrain::github::{GitHub, Repository, WallClock as _};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{method, path},
};

use crate::common::{INSTALLATION, REPOSITORY, TestClock, github_at};

pub const TOKEN: &str = "ghs_4711_header.payload-signature_1";

pub struct Fake {
    pub server: MockServer,
    pub clock: TestClock,
    pub github: GitHub,
}

impl Fake {
    /// With no answers yet, not even for tokens.
    pub async fn silent() -> Self {
        Self::under("").await
    }

    /// With the API under `prefix`.
    pub async fn under(prefix: &str) -> Self {
        let server = MockServer::start().await;
        let clock = TestClock::new();
        let github = github_at(&format!("{}{prefix}", server.uri()), &clock);
        Self { server, clock, github }
    }

    /// Mints a new token each time: `…_1`, `…_2` and so on.
    pub async fn minting() -> Self {
        let fake = Self::silent().await;
        fake.mint_at("").await;
        fake
    }

    pub async fn mint_at(&self, prefix: &str) {
        let clock = self.clock.clone();
        let minted = std::sync::atomic::AtomicU32::new(0);
        let mint = move |_: &Request| {
            let number = minted.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
            let expires = clock.now() + Duration::from_secs(3600);
            ResponseTemplate::new(201).set_body_json(json!({
                "token": format!("ghs_4711_header.payload-signature_{number}"),
                "expires_at": humantime::format_rfc3339_seconds(expires).to_string(),
            }))
        };
        let path_of = format!("{prefix}/app/installations/{INSTALLATION}/access_tokens");
        Mock::given(method("POST")).and(path(path_of)).respond_with(mint).mount(&self.server).await;
    }

    pub fn repository(&self) -> Repository {
        self.github.repository(INSTALLATION, REPOSITORY, "octo/kernels")
    }

    /// Answers `verb path_of` with `answer` from now on; an earlier one comes first until used up.
    pub async fn answer(&self, verb: &str, path_of: &str, answer: ResponseTemplate) {
        Mock::given(method(verb)).and(path(path_of)).respond_with(answer).mount(&self.server).await;
    }

    /// The same, but only so many times.
    pub async fn answer_times(
        &self,
        times: u64,
        verb: &str,
        path_of: &str,
        answer: ResponseTemplate,
    ) {
        Mock::given(method(verb))
            .and(path(path_of))
            .respond_with(answer)
            .up_to_n_times(times)
            .mount(&self.server)
            .await;
    }

    /// What was asked, as `VERB /path?query`, without the minting of tokens.
    pub async fn asked(&self) -> Vec<String> {
        let all = self.requests().await;
        all.iter().filter(|one| !is_mint(one)).map(line).collect()
    }

    pub async fn mints(&self) -> Vec<Request> {
        self.requests().await.into_iter().filter(is_mint).collect()
    }

    pub async fn requests(&self) -> Vec<Request> {
        self.server.received_requests().await.unwrap()
    }

    /// The body of the last request that was no minting.
    pub async fn last_body(&self) -> Value {
        let all = self.requests().await;
        all.iter().rfind(|one| !is_mint(one)).unwrap().body_json().unwrap()
    }
}

fn is_mint(request: &Request) -> bool {
    request.url.path().ends_with("/access_tokens")
}

fn line(request: &Request) -> String {
    let query = request.url.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{} {}{query}", request.method, request.url.path())
}

pub fn header(request: &Request, name: &str) -> String {
    request.headers.get(name).map(|it| it.to_str().unwrap().to_owned()).unwrap_or_default()
}

pub fn status(code: u16) -> ResponseTemplate {
    ResponseTemplate::new(code)
}

pub fn refusal(code: u16, message: &str) -> ResponseTemplate {
    status(code).set_body_json(json!({"message": message, "documentation_url": "https://docs"}))
}

pub fn ok(body: Value) -> ResponseTemplate {
    status(200).set_body_json(body)
}

/// A pull request as GitHub sends it, with fields that nobody here knows.
pub fn pull(number: u64) -> Value {
    json!({
        "number": number, "state": "open", "title": "Faster", "merged": false, "draft": false,
        "from_the_future": {"a": 1}, "maintainer_can_modify": true,
        "user": {"login": "mona", "id": 1, "type": "User", "user_view_type": "public"},
        "labels": [{"name": "optimize-kernel", "color": "fff"}],
        "head": {"sha": "a".repeat(40), "ref": "fast", "repo": {"id": REPOSITORY, "full_name": "octo/kernels"}},
        "base": {"sha": "b".repeat(40), "ref": "main", "repo": {"id": REPOSITORY, "full_name": "octo/kernels"}},
    })
}

pub fn comment(id: u64, body: &str) -> Value {
    json!({
        "id": id, "node_id": format!("IC_{id}"), "body": body,
        "user": {"login": "kernelbrain[bot]", "id": 9, "type": "Bot"},
        "performed_via_github_app": {"id": 4711, "slug": "kernelbrain"},
        "created_at": "2026-01-31T12:00:00Z",
    })
}
