//! Who asks: as the App with a JWT, or as one of its installations with a token.
//!
//! Races that are met here:
//! - A token is known to some of GitHub's machines before others. A 401 within seconds of minting
//!   means that, so the same token is tried again a second and two seconds later.
//! - A token may be revoked while it is kept here. Any other 401 drops it and mints once.
//! - Our clock may be off. GitHub says so in words, and its answer has a date.
//!
//! A 401 says that nothing was done, so all of this goes for writes, too. Nothing else does.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use http::{Method, StatusCode};
use secrecy::SecretString;

use super::{
    GitHubError, Result, WallClock,
    address::Address,
    app::Signer,
    pace::Pace,
    patience::Patience,
    quota::Quotas,
    throttle::{self, Limit},
    token::{Minted, Scope, Token, Tokens},
    transport::{Answer, Request, Transport},
};

/// How soon after minting a 401 is put down to replication.
const REPLICATION: Duration = Duration::from_secs(5);
const REPLICATION_WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// How often a read is repeated.
const READ_RETRIES: usize = 3;

/// Whose limits the App itself is under.
const NO_INSTALLATION: u64 = 0;

/// As whom a request is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum As {
    App,
    Installation(Scope),
}

/// The App's way to GitHub.
pub(super) struct Session {
    pub(super) address: Address,
    pub(super) transport: Transport,
    pub(super) signer: Signer,
    pub(super) tokens: Tokens,
    pub(super) quotas: Quotas,
    pub(super) patience: Patience,
    /// Between writes to an installation.
    pub(super) pace: Pace,
    pub(super) clock: Arc<dyn WallClock>,
}

impl Session {
    /// The successful answer to `request`. A read is repeated where GitHub or the network stumbles;
    /// a write is sent once.
    pub(super) async fn call(&self, who: As, request: &Request) -> Result<Answer> {
        let mut waits = waits();
        loop {
            let error = match self.once(who, request).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let (method, url) = (&request.method, &request.url);
            tracing::debug!(%method, %url, %error, "GitHub did not do it");
            if writes(request) || !self.paused(&error, &mut waits).await {
                return Err(error);
            }
        }
    }

    /// A token for `scope` that nobody else uses, with an hour to live.
    pub(super) async fn mint(&self, scope: Scope) -> Result<Token> {
        let path = format!("/app/installations/{}/access_tokens", scope.installation);
        let request = Request::new(Method::POST, self.address.rest(&path), Some(scope.request()));
        let mut waits = waits();
        let answer = loop {
            match self.as_app(&request).await {
                Ok(answer) => break answer,
                Err(GitHubError::Unprocessable(why)) => {
                    let Scope { installation, repository, .. } = scope;
                    return Err(GitHubError::Forbidden(format!(
                        "{why} (installation {installation}, repository {repository})"
                    )));
                }
                // A token more or less changes nothing, so this write may be repeated.
                Err(error) => {
                    if !self.paused(&error, &mut waits).await {
                        return Err(error);
                    }
                }
            }
        };
        // Not with the parser's words: they may quote the token.
        let minted: Minted = serde_json::from_slice(&answer.body)
            .map_err(|_| GitHubError::Invalid("no token where one was asked for".to_owned()))?;
        let now = self.clock.now();
        Ok(Token::new(minted, now, throttle::date(&answer.headers).unwrap_or(now)))
    }

    /// Whether `error` may pass and there is another wait for it, which is then over.
    async fn paused(&self, error: &GitHubError, waits: &mut ExponentialBackoff) -> bool {
        let may_pass = matches!(error, GitHubError::Transient { .. });
        let Some(wait) = waits.next().filter(|_| may_pass) else { return false };
        self.clock.sleep(wait).await;
        true
    }

    /// A kept token, or a new one. Where several ask at once, one mints and the others wait for it.
    async fn token(&self, scope: Scope) -> Result<Arc<Token>> {
        let mut kept = self.tokens.slot(scope, self.clock.now()).lock_owned().await;
        if let Some(token) = kept.as_ref().filter(|token| token.is_fresh(self.clock.now())) {
            return Ok(Arc::clone(token));
        }
        let token = Arc::new(self.mint(scope).await?);
        *kept = Some(Arc::clone(&token));
        Ok(token)
    }

    async fn once(&self, who: As, request: &Request) -> Result<Answer> {
        match who {
            As::App => self.as_app(request).await,
            As::Installation(scope) => self.as_installation(scope, request).await,
        }
    }

    async fn as_app(&self, request: &Request) -> Result<Answer> {
        let answer = self.signed(request).await?;
        let refused = answer.status == StatusCode::UNAUTHORIZED;
        let answer = if refused && self.signer.learn_skew(&answer, self.clock.now()) {
            self.signed(request).await?
        } else {
            answer
        };
        self.judge(NO_INSTALLATION, writes(request), answer)
    }

    async fn signed(&self, request: &Request) -> Result<Answer> {
        let jwt = self.signer.jwt(self.clock.now())?;
        self.send(request, &jwt).await
    }

    async fn as_installation(&self, scope: Scope, request: &Request) -> Result<Answer> {
        let mut replaced = false;
        let mut waits = REPLICATION_WAITS.iter();
        loop {
            if writes(request) {
                self.pace.turn(scope.installation).await;
            }
            let token = self.token(scope).await?;
            let answer = self.send(request, &token.secret).await?;
            let now = self.clock.now();
            self.quotas.learn(scope.installation, &answer.headers);
            if answer.status != StatusCode::UNAUTHORIZED {
                return self.judge(scope.installation, writes(request), answer);
            }
            let is_new = now.duration_since(token.minted).is_ok_and(|age| age < REPLICATION);
            if is_new && let Some(wait) = waits.next() {
                self.clock.sleep(*wait).await;
            } else if replaced || is_new {
                return Err(GitHubError::Unauthorized);
            } else {
                replaced = true;
                self.tokens.forget(scope, &token, now).await;
            }
        }
    }

    /// The answer where it is a success, else what it means.
    fn judge(&self, installation: u64, writes: bool, answer: Answer) -> Result<Answer> {
        let now = self.clock.now();
        if let Some(limit) = answer.limit(now) {
            return Err(self.limited(installation, limit, now));
        }
        let answer = answer.success()?;
        // A read says nothing of the limit on what creates content.
        if writes {
            self.patience.reset(installation);
        }
        Ok(answer)
    }

    pub(super) fn limited(&self, installation: u64, limit: Limit, now: SystemTime) -> GitHubError {
        GitHubError::RateLimited { until: self.patience.until(installation, limit, now) }
    }

    async fn send(&self, request: &Request, bearer: &SecretString) -> Result<Answer> {
        self.transport.send(&self.address, request, bearer).await
    }
}

fn writes(request: &Request) -> bool {
    request.method != Method::GET
}

/// The waits between the attempts of something that may be repeated.
fn waits() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_secs(1))
        .with_max_times(READ_RETRIES)
        .with_jitter()
        .build()
}
