//! One address of a model server: a JSON object is posted, a JSON object or a fault comes back.
//!
//! Servers, and what stands between them and us, are not trusted to end a body, to send JSON, to
//! mean a status of 200, or to keep the key to themselves.

use std::time::{Duration, SystemTime};

use reqwest::{
    Client, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER},
    redirect,
};
use serde_json::Value;

use super::{
    Limits,
    base_url::is_loopback,
    error::{Fault, Said},
    excerpt::excerpt,
    key::Key,
    server_error::{self, ServerError},
    setup::SetupError,
};

/// Longest body of an error that is looked at.
const ERROR_BYTES: usize = 64 * 1024;

/// Time to reach a server. Its answer may take minutes, but not its handshake.
const CONNECT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    key: Option<Key>,
    /// Where a key would be looked for.
    key_variable: &'static str,
    limits: Limits,
}

impl Endpoint {
    /// `headers` carry the key, if there is one, in the way that the server wants it.
    pub(super) fn new(
        url: Url,
        headers: HeaderMap,
        key: Option<Key>,
        key_variable: &'static str,
        limits: Limits,
    ) -> Result<Self, SetupError> {
        let mut client = Client::builder()
            .user_agent(concat!("kernelbrain/", env!("CARGO_PKG_VERSION")))
            // A redirection would carry the key to wherever the server points.
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT.min(limits.time_out));
        if is_loopback(&url) {
            // What is meant for this machine, perhaps in plain text, is not for a proxy.
            client = client.no_proxy();
            if url.scheme() == "http" {
                // No certificate is needed, so none is missed on a machine that has none.
                client = client.tls_certs_only([]);
            }
        }
        let client =
            client.build().map_err(|error| SetupError::Client { reason: chain(&error) })?;
        Ok(Self { client, url, headers, key, key_variable, limits })
    }

    /// Posts `body` and waits for the whole answer.
    pub(super) async fn post(&self, body: &Value) -> Result<Value, Fault> {
        let limit = self.limits.time_out;
        match tokio::time::timeout(limit, self.exchange(body)).await {
            Ok(result) => result,
            Err(_) => Err(Fault::TimedOut { limit }),
        }
    }

    /// `text` of the server without the key.
    pub(super) fn redact(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text))
    }

    async fn exchange(&self, body: &Value) -> Result<Value, Fault> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body.to_string());
        let mut response = request.send().await.map_err(|error| self.unconnected(error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        if content_type(&response).starts_with("text/event-stream") {
            return Err(Fault::Garbage {
                reason: "it streams events although it was not asked to".into(),
            });
        }
        let (bytes, complete) = self.read(&mut response, self.limits.answer_bytes).await?;
        if !complete {
            let from = "the server's answer".into();
            return Err(Fault::TooLong { from, limit: self.limits.answer_bytes });
        }
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| self.garbage(&bytes))?;
        match self.error_within(&value) {
            Some(fault) => Err(fault),
            None => Ok(value),
        }
    }

    /// The fault that part of an answer with status 200 describes, if it does.
    pub(super) fn error_within(&self, value: &Value) -> Option<Fault> {
        ServerError::within(value).map(|error| self.fault(StatusCode::OK, &error, None))
    }

    /// The body up to `limit` bytes, and whether that is all of it.
    async fn read(&self, response: &mut Response, limit: usize) -> Result<(Vec<u8>, bool), Fault> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unconnected(error))? {
            let room = limit - bytes.len();
            bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Ok((bytes, false));
            }
        }
        Ok((bytes, true))
    }

    async fn refusal(&self, mut response: Response) -> Fault {
        let status = response.status();
        let wait = header(&response, RETRY_AFTER.as_str())
            .and_then(|value| retry_after(value, SystemTime::now()));
        let location = header(&response, LOCATION.as_str()).map(|to| excerpt(&self.redact(to)));
        // The status says enough if the connection breaks before the reason is known.
        let body = self.read(&mut response, ERROR_BYTES).await.map(|(bytes, _)| bytes);
        let text = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
        let error = ServerError::read(&text);
        if status.is_redirection() {
            let location = location.unwrap_or_else(|| "it does not say where".into());
            return Fault::Redirected { said: self.said(status, &error), location };
        }
        self.fault(status, &error, wait)
    }

    fn fault(&self, status: StatusCode, error: &ServerError, wait: Option<Duration>) -> Fault {
        use server_error::Class;

        let said = self.said(status, error);
        match error.class(status.as_u16()) {
            Class::Key => Fault::Key { said, advice: self.key_advice() },
            Class::Credit => Fault::Credit { said },
            Class::NotFound => Fault::NotFound { said, url: self.url.to_string() },
            Class::Unavailable => Fault::Unavailable { said, retry_after: wait },
            Class::Other => Fault::Refused { said },
        }
    }

    fn said(&self, status: StatusCode, error: &ServerError) -> Said {
        Said {
            status: status.as_u16(),
            kind: error.kind.as_deref().map(|kind| excerpt(&self.redact(kind))),
            // First without the key and then shortened: half a key is not found any more.
            message: excerpt(&self.redact(&error.message)),
        }
    }

    fn key_advice(&self) -> String {
        match &self.key {
            Some(key) => format!("put a valid one into {}", key.from),
            None => format!(
                "none was sent: put one into the environment variable {}, or into a file that the \
                 configuration names",
                self.key_variable
            ),
        }
    }

    fn garbage(&self, bytes: &[u8]) -> Fault {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start();
        let reason = if text.is_empty() {
            "its body is empty".into()
        } else if ["data:", "event:", ":"].iter().any(|start| text.starts_with(start)) {
            "it streams events although it was not asked to".into()
        } else if let Err(error) = std::str::from_utf8(bytes) {
            format!("it is not UTF-8 (byte {})", error.valid_up_to())
        } else {
            format!("it is not JSON but begins with `{}`", excerpt(&self.redact(text)))
        };
        Fault::Garbage { reason }
    }

    fn unconnected(&self, error: reqwest::Error) -> Fault {
        let reason = excerpt(&self.redact(&chain(&error.without_url())));
        Fault::Connection { url: self.url.to_string(), reason }
    }
}

fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    response.headers().get(name)?.to_str().ok()
}

fn content_type(response: &Response) -> &str {
    header(response, CONTENT_TYPE.as_str()).unwrap_or_default()
}

/// A `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// An error with its causes, which is where the reason is.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let wait = |value: &str| retry_after(value, now);
        assert_eq!(wait("30"), Some(Duration::from_secs(30)));
        assert_eq!(wait(" 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:37 GMT"), Some(Duration::from_secs(60)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(["-3", "soon", "", "1e300", "NaN"].map(wait), [None; 5]);
    }
}
