//! octocrab's requests over reqwest: no redirects, no repeats, our own name, the proxy that the
//! environment names.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::BodyExt as _;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use tower_service::Service;

use super::{GitHubError, Result};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

const CONNECT: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Wire(reqwest::Client);

impl Service<http::Request<OctoBody>> for Wire {
    type Response = http::Response<reqwest::Body>;
    type Error = BoxError;
    type Future =
        Pin<Box<dyn Future<Output = std::result::Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<OctoBody>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let request = reqwest::Request::try_from(http::Request::from_parts(parts, bytes))?;
            Ok(client.execute(request).await?.into())
        })
    }
}

/// An octocrab that knows no credentials and sends what it is given once. A GitHub on this machine is
/// no proxy's business.
pub(super) fn octocrab(on_this_machine: bool) -> Result<Octocrab> {
    let builder = reqwest::Client::builder();
    let builder = if on_this_machine { builder.no_proxy() } else { builder };
    let client = builder
        .user_agent(concat!("kernelbrain/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .build()
        .map_err(|error| GitHubError::Setup(format!("no HTTPS client: {error}")))?;
    let built: std::result::Result<Octocrab, Infallible> =
        OctocrabBuilder::new_empty().with_service(Wire(client)).with_auth(AuthState::None).build();
    match built {
        Ok(octocrab) => Ok(octocrab),
        Err(never) => match never {},
    }
}

/// Whether there was no connection, so that nothing can have been sent.
pub(super) fn never_left(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect)
}
