//! The few things that REST cannot do.

use serde::Deserialize;
use serde_json::{Value, json};

use http::{Method, StatusCode};

use super::{
    GitHubError, Result,
    answer::one_line,
    session::{As, Session},
    throttle::{self, Limit},
    token::Scope,
    transport::Request,
};

#[derive(Debug, Deserialize)]
struct Reply {
    #[serde(default)]
    errors: Vec<Fault>,
}

#[derive(Debug, Deserialize)]
struct Fault {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
}

/// Runs a mutation. GraphQL answers 200 to what it refuses, with the reason in the body.
pub(super) async fn mutate(
    session: &Session,
    scope: Scope,
    query: &str,
    variables: Value,
) -> Result<()> {
    let body = json!({"query": query, "variables": variables});
    let url = session.address.graphql().to_owned();
    let request = Request::new(Method::POST, url, Some(body));
    let answer = session.call(As::Installation(scope), &request).await?;
    let reply: Reply = answer.json()?;
    let Some(fault) = reply.errors.first() else { return Ok(()) };
    let message = one_line(&fault.message);
    Err(match fault.kind.as_str() {
        "NOT_FOUND" => GitHubError::NotFound,
        "FORBIDDEN" | "INSUFFICIENT_SCOPES" => GitHubError::Forbidden(message),
        "RATE_LIMITED" => {
            let now = session.clock.now();
            let status = StatusCode::TOO_MANY_REQUESTS;
            let limit = throttle::limit(status, &answer.headers, &message, now);
            session.limited(scope.installation, limit.unwrap_or(Limit::Unnamed), now)
        }
        _ => GitHubError::Unprocessable(message),
    })
}
