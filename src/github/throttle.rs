//! Whether a refusal means "later", and when that is. GitHub's order: `retry-after`, then an
//! exhausted quota with its reset, then a minute that doubles with every refusal in a row. A 403 with
//! none of these is a permission.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header};

use super::time;

/// What no limit of GitHub's asks for; a date beyond it is a mistake on the way.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// What a refusal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Nothing for this long.
    Named(Duration),
    /// Less, and GitHub does not say for how long.
    Unnamed,
}

/// What a 403 or 429 asks for; `None` where it is about a permission.
pub(super) fn limit(
    status: StatusCode,
    headers: &HeaderMap,
    message: &str,
    now: SystemTime,
) -> Option<Limit> {
    if let Some(wait) = retry_after(headers).or_else(|| quota_resets_in(headers, now)) {
        return Some(Limit::Named(wait.min(LONGEST)));
    }
    let speaks_of_it = message.to_ascii_lowercase().contains("rate limit");
    (status == StatusCode::TOO_MANY_REQUESTS || speaks_of_it).then_some(Limit::Unnamed)
}

/// `retry-after`: seconds, or a date, which counts from the answer's own.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, header::RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = httpdate::parse_http_date(value).ok()?;
    Some(then.duration_since(date(headers)?).unwrap_or_default())
}

/// How long until an exhausted quota is full again, by GitHub's clock where the answer shows it.
fn quota_resets_in(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if text(headers, "x-ratelimit-remaining")? != "0" {
        return None;
    }
    let reset = time::from_seconds(text(headers, "x-ratelimit-reset")?.parse().ok()?);
    let left = reset.duration_since(date(headers).unwrap_or(now)).unwrap_or_default();
    // The reset is a whole second, and the quota is full after it.
    Some(left + Duration::from_secs(1))
}

/// When GitHub wrote the answer, by its own clock.
pub(super) fn date(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(text(headers, header::DATE.as_str())?).ok()
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}
