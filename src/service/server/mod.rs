//! `kernelbrain serve`: the routes, and the loops that work behind them.

mod backstage;
mod grant;
mod receive;
mod state;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tower_http::{catch_panic::CatchPanicLayer, timeout::TimeoutLayer};

pub use backstage::{Backstage, BackstageOptions};
pub use receive::{Receiver, spawn_receiver};
pub use state::ServiceState;

/// Largest delivery that GitHub makes.
const LARGEST_DELIVERY: usize = 25 << 20;
/// GitHub gives up after ten seconds.
const PATIENCE: Duration = Duration::from_secs(9);

/// Everything that is served.
pub fn router(state: Arc<ServiceState>) -> Router {
    Router::new()
        .route("/webhook", post(receive::webhook).layer(DefaultBodyLimit::max(LARGEST_DELIVERY)))
        .route("/runner/grant", post(grant::grant).layer(DefaultBodyLimit::max(16 << 10)))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, PATIENCE))
        .layer(CatchPanicLayer::new())
        .with_state(state)
}

async fn healthy() -> &'static str {
    "ok\n"
}

/// Whether a delivery could be kept now.
async fn ready(State(state): State<Arc<ServiceState>>) -> Response {
    match state.store.owed().await {
        Ok(_) => "ready\n".into_response(),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n").into_response()
        }
    }
}

async fn metrics(State(state): State<Arc<ServiceState>>) -> Response {
    state.measure().await;
    let Some(recorder) = &state.metrics else {
        return (StatusCode::NOT_FOUND, "metrics are off\n").into_response();
    };
    let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4");
    ([kind], recorder.render()).into_response()
}
