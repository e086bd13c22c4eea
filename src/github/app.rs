//! Who the App is, and the JWT that proves it: RS256, a minute back, nine minutes ahead, by GitHub's
//! clock once that is known to differ from ours.

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
    time::SystemTime,
};

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::{GitHubError, Result, throttle, time, transport::Answer};

/// What the App was given when it was made.
#[derive(Clone, Debug)]
pub struct AppCredentials {
    pub app_id: u64,
    /// RSA, PEM, as GitHub hands it out.
    pub private_key: SecretString,
}

/// What GitHub says of the App.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AppInfo {
    pub id: u64,
    pub name: String,
    pub slug: String,
}

impl AppInfo {
    /// As whom its comments appear.
    #[must_use]
    pub fn login(&self) -> String {
        format!("{}[bot]", self.slug)
    }
}

/// Before now, so that a clock that is a little ahead does no harm.
const ISSUED_BEFORE: i64 = 60;
/// GitHub takes ten minutes at most.
const EXPIRES_AFTER: i64 = 9 * 60;

/// Signs for the App.
pub(super) struct Signer {
    app_id: u64,
    key: EncodingKey,
    /// Seconds that GitHub's clock is ahead of ours.
    skew: AtomicI64,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("app_id", &self.app_id).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

impl Signer {
    pub(super) fn new(credentials: &AppCredentials) -> Result<Self> {
        let key = EncodingKey::from_rsa_pem(credentials.private_key.expose_secret().as_bytes())
            // Not with the error's words: nothing of the key belongs into a log.
            .map_err(|_| {
                GitHubError::Setup(
                    "the App's private key is no RSA key in PEM: use the .pem file that GitHub \
                     gave out, with its BEGIN and END lines"
                        .to_owned(),
                )
            })?;
        Ok(Self { app_id: credentials.app_id, key, skew: AtomicI64::new(0) })
    }

    pub(super) fn app_id(&self) -> u64 {
        self.app_id
    }

    pub(super) fn jwt(&self, now: SystemTime) -> Result<SecretString> {
        let now = whole_seconds(now) + self.skew.load(Ordering::Relaxed);
        let claims = Claims {
            iat: now - ISSUED_BEFORE,
            exp: now + EXPIRES_AFTER,
            iss: self.app_id.to_string(),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key)
            .map(SecretString::from)
            .map_err(|_| GitHubError::Setup("the App's private key cannot sign".to_owned()))
    }

    /// Whether GitHub refused a JWT for its times, and what its clock says is now known.
    pub(super) fn learn_skew(&self, refusal: &Answer, now: SystemTime) -> bool {
        let message = refusal.message();
        let about_time = ["('exp')", "('iat')"].iter().any(|claim| message.contains(claim));
        let Some(theirs) = throttle::date(&refusal.headers).filter(|_| about_time) else {
            return false;
        };
        let skew = whole_seconds(theirs) - whole_seconds(now);
        tracing::warn!(seconds = skew, "this machine's clock differs from GitHub's");
        self.skew.store(skew, Ordering::Relaxed);
        true
    }
}

fn whole_seconds(moment: SystemTime) -> i64 {
    i64::try_from(time::seconds(moment)).unwrap_or(i64::MAX / 2)
}
