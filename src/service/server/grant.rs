//! `POST /runner/grant`: a read-only token for a runner on another host, while it holds the job.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use super::state::ServiceState;
use crate::{
    service::runner::{GrantAnswer, GrantRequest},
    store::service::JobId,
};

pub(super) async fn grant(
    State(state): State<Arc<ServiceState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match answer(&state, &headers, &body).await {
        Ok(answer) => {
            let text = serde_json::to_string(&answer).unwrap_or_default();
            ([(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        Err((status, text)) => (status, text).into_response(),
    }
}

async fn answer(
    state: &ServiceState,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<GrantAnswer, (StatusCode, &'static str)> {
    let secret = state.runner_secret.as_ref();
    let secret = secret.ok_or((StatusCode::NOT_FOUND, "this service has no remote runners\n"))?;
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if !same(secret, shown) {
        return Err((StatusCode::UNAUTHORIZED, "not a runner of this service\n"));
    }
    let request: GrantRequest = serde_json::from_slice(body)
        .map_err(|_| (StatusCode::BAD_REQUEST, "the request cannot be read\n"))?;
    let job = state.store.job(&JobId(request.job)).await.ok().flatten();
    let held = job.filter(|job| {
        let ours = job.lease.as_ref().is_some_and(|lease| lease.fence == request.fence);
        ours && job.state.is_held()
    });
    let job = held.ok_or((StatusCode::CONFLICT, "that lease is lost\n"))?;
    let grant = state.grants.grant(&job, request.fence).await.map_err(|error| {
        tracing::warn!(%error, "no grant for a runner");
        (StatusCode::BAD_GATEWAY, "GitHub gave no token\n")
    })?;
    let token = grant.token.expose_secret().to_owned();
    Ok(GrantAnswer { url: grant.url, token })
}

/// Compares in constant time: both sides are keyed hashes.
fn same(secret: &SecretString, shown: &str) -> bool {
    let keyed = |text: &str| {
        let mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes());
        mac.map(|mac| mac.chain_update(text))
    };
    let (Ok(ours), Ok(theirs)) = (keyed(secret.expose_secret()), keyed(shown)) else {
        return false;
    };
    ours.verify_slice(&theirs.finalize().into_bytes()).is_ok()
}
