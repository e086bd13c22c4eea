//! What an answer means.

use std::time::SystemTime;

use http::StatusCode;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    GitHubError, Result,
    throttle::{self, Limit},
    transport::{ACCEPTED_PERMISSIONS, Answer},
};

/// The most characters of GitHub's words in an error.
const MAX_MESSAGE: usize = 500;

impl Answer {
    /// What a 403 or 429 asks for where it is a limit and no permission.
    pub(super) fn limit(&self, now: SystemTime) -> Option<Limit> {
        matches!(self.status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS)
            .then(|| throttle::limit(self.status, &self.headers, &self.message(), now))
            .flatten()
    }

    /// The answer where it is a success, else what it means where it is no limit.
    pub(super) fn success(self) -> Result<Self> {
        if self.status.is_success() { Ok(self) } else { Err(self.failure()) }
    }

    fn failure(&self) -> GitHubError {
        let message = self.message();
        match self.status {
            StatusCode::UNAUTHORIZED => GitHubError::Unauthorized,
            StatusCode::NOT_FOUND => GitHubError::NotFound,
            StatusCode::GONE => GitHubError::Gone,
            StatusCode::FORBIDDEN => GitHubError::Forbidden(self.with_permissions(message)),
            status if status.is_server_error() => GitHubError::Transient {
                reason: format!("{}: {message}", status.as_u16()),
                may_have_arrived: true,
            },
            status if status.is_redirection() => GitHubError::Unprocessable(format!(
                "{}: this has moved; the repository may have a new name",
                status.as_u16()
            )),
            _ => GitHubError::Unprocessable(message),
        }
    }

    /// What is in it.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body)
            .map_err(|error| GitHubError::Invalid(format!("{error} ({})", path_of(&self.url))))
    }

    /// GitHub's words: the message and what it lists under it.
    pub(super) fn message(&self) -> String {
        let refusal: Refusal = serde_json::from_slice(&self.body).unwrap_or_default();
        let mut words = refusal.message.unwrap_or_else(|| {
            self.status.canonical_reason().unwrap_or("no reason given").to_owned()
        });
        let details: Vec<String> =
            refusal.errors.as_array().into_iter().flatten().filter_map(detail).collect();
        if !details.is_empty() {
            words = format!("{words}: {}", details.join("; "));
        }
        one_line(&words)
    }

    fn with_permissions(&self, message: String) -> String {
        match throttle::text(&self.headers, ACCEPTED_PERMISSIONS.as_str()) {
            Some(needed) if !needed.is_empty() => {
                format!("{message} (it takes {})", one_line(needed))
            }
            _ => message,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    message: Option<String>,
    /// Usually a list, of strings or of objects.
    #[serde(default)]
    errors: Value,
}

fn detail(error: &Value) -> Option<String> {
    if let Some(text) = error.as_str().or_else(|| error.get("message")?.as_str()) {
        return Some(text.to_owned());
    }
    let (field, code) = (error.get("field")?.as_str()?, error.get("code")?.as_str()?);
    Some(format!("{field} {code}"))
}

/// Without control characters and not endless: it goes into logs and databases.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_MESSAGE).collect()
}

fn path_of(url: &str) -> &str {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    url[after_scheme..].find('/').map_or(url, |at| &url[after_scheme + at..])
}
