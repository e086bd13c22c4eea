//! One request, one answer, over octocrab. Nothing is repeated here; redirects are followed, an
//! answer has a time and a size that it may not exceed.

use std::{error::Error as StdError, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, LOCATION},
};
use http_body_util::BodyExt as _;
use octocrab::Octocrab;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{GitHubError, Result, address::Address, throttle, wire};

/// What GitHub asks clients to accept.
pub(super) const JSON: &str = "application/vnd.github+json";
/// The bytes of a file instead of JSON about it.
pub(super) const RAW: &str = "application/vnd.github.raw+json";

/// The most bytes of an answer: a page of a hundred files with their diffs stays far below.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// From the first byte sent to the last one read. GitHub itself gives up after 10 s.
const ANSWER: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: u32 = 5;

/// What is asked of GitHub, but for who asks.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Absolute.
    pub(super) url: String,
    pub(super) accept: &'static str,
    pub(super) body: Option<Value>,
    pub(super) max_bytes: usize,
}

impl Request {
    pub(super) fn new(method: Method, url: String, body: Option<Value>) -> Self {
        Self { method, url, accept: JSON, body, max_bytes: MAX_ANSWER_BYTES }
    }

    pub(super) fn get(url: String) -> Self {
        Self::new(Method::GET, url, None)
    }
}

/// An answer of any status.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Where it was found, after redirects.
    pub(super) url: String,
}

pub(super) struct Transport {
    octocrab: Octocrab,
}

impl Transport {
    /// Must be called within a Tokio runtime, whose task the connection pool is.
    pub(super) fn new(address: &Address) -> Result<Self> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(GitHubError::Setup("GitHub is spoken to from a Tokio runtime".to_owned()));
        }
        Ok(Self { octocrab: wire::octocrab(address.is_on_this_machine())? })
    }

    /// The answer to `request`, whatever its status.
    pub(super) async fn send(
        &self,
        address: &Address,
        request: &Request,
        bearer: &SecretString,
    ) -> Result<Answer> {
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let once = self.once(request, &url, bearer);
            let answer = tokio::time::timeout(ANSWER, once).await.map_err(|_| {
                let reason = format!("no answer within {} s", ANSWER.as_secs());
                GitHubError::Transient { reason, may_have_arrived: true }
            })??;
            match redirect(&request.method, &answer) {
                Some(target) => url = address.resolve(&url, target)?,
                None => return Ok(answer),
            }
        }
        Err(GitHubError::Invalid(format!("more than {MAX_REDIRECTS} redirects")))
    }

    async fn once(&self, request: &Request, url: &str, bearer: &SecretString) -> Result<Answer> {
        let unsent = |error: &dyn StdError| GitHubError::Invalid(format!("{url}: {error}"));
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {}", bearer.expose_secret()))
                // Not with the error's words: they may hold the value.
                .map_err(|_| {
                    GitHubError::Invalid("a token with characters no header has".into())
                })?;
        authorization.set_sensitive(true);
        let builder = http::Request::builder()
            .method(request.method.clone())
            .uri(url)
            .header(AUTHORIZATION, authorization)
            .header(ACCEPT, HeaderValue::from_static(request.accept));
        let ready = self
            .octocrab
            .build_request(builder, request.body.as_ref())
            .map_err(|error| unsent(&error))?;
        let answer = self.octocrab.send(ready).await.map_err(|error| lost(&error))?;
        let (parts, mut body) = answer.into_parts();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|error| lost(&error))?.into_data() else { continue };
            if bytes.len() + data.len() > request.max_bytes {
                let most = request.max_bytes;
                return Err(GitHubError::Invalid(format!("it is larger than {most} bytes")));
            }
            bytes.extend_from_slice(&data);
        }
        let token = bearer.expose_secret().as_bytes();
        if !parts.status.is_success() && bytes.windows(token.len()).any(|part| part == token) {
            // A refusal's words go into errors and logs.
            bytes.clear();
        }
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body: bytes.into(),
            url: url.to_owned(),
        })
    }
}

/// Where an answer sends to, if it may be followed: a read anywhere, a write only where the status
/// says that it is to be repeated as it is, which also says that it did not take place.
fn redirect<'a>(method: &Method, answer: &'a Answer) -> Option<&'a str> {
    let follow = match answer.status.as_u16() {
        301 | 302 => method == Method::GET,
        307 | 308 => true,
        _ => false,
    };
    if follow { throttle::text(&answer.headers, LOCATION.as_str()) } else { None }
}

/// The connection failed. The request did not leave only where there was no connection at all.
fn lost(error: &octocrab::Error) -> GitHubError {
    let mut reason = String::new();
    let mut unsent = false;
    let mut cause: Option<&(dyn StdError + 'static)> = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !reason.contains(&text) {
            reason = if reason.is_empty() { text } else { format!("{reason}: {text}") };
        }
        unsent |= wire::never_left(error);
        cause = error.source();
    }
    GitHubError::Transient { reason, may_have_arrived: !unsent }
}

/// Tells which permission a refused call asks for.
pub(super) const ACCEPTED_PERMISSIONS: HeaderName =
    HeaderName::from_static("x-accepted-github-permissions");
