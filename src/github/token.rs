//! Installation tokens: for one repository, with no more permissions than needed, kept for fifty of
//! their sixty minutes, minted by one at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::time;

/// A token lives for an hour; this leaves ten minutes to whoever was handed one.
const KEPT: Duration = Duration::from_secs(50 * 60);
const LEFT: Duration = Duration::from_secs(10 * 60);

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) installation: u64,
    pub(super) repository: u64,
    pub(super) access: Access,
}

/// What a token may do in its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Access {
    /// Read files: all that a checkout needs.
    Read,
    /// Write checks, comments and reviews.
    Speak,
    /// Also push branches.
    Push,
}

impl Scope {
    /// The body of the request for such a token.
    pub(super) fn request(&self) -> Value {
        let contents = if self.access == Access::Push { "write" } else { "read" };
        let mut permissions = json!({"metadata": "read", "contents": contents});
        if self.access != Access::Read {
            for spoken in ["checks", "pull_requests", "issues"] {
                permissions[spoken] = "write".into();
            }
        }
        json!({"repository_ids": [self.repository], "permissions": permissions})
    }
}

#[derive(Debug)]
pub(super) struct Token {
    pub(super) secret: SecretString,
    /// By our clock.
    pub(super) minted: SystemTime,
    /// By our clock, too: when it is handed out no more.
    stale: SystemTime,
}

/// What GitHub answers to the request for a token.
#[derive(Deserialize)]
pub(super) struct Minted {
    token: String,
    #[serde(deserialize_with = "time::moment")]
    expires_at: SystemTime,
}

impl Token {
    /// `theirs` is the time of the answer by GitHub's clock.
    pub(super) fn new(minted: Minted, now: SystemTime, theirs: SystemTime) -> Self {
        let lives = minted.expires_at.duration_since(theirs).unwrap_or_default();
        let kept = KEPT.min(lives.saturating_sub(LEFT));
        Self { secret: minted.token.into(), minted: now, stale: now + kept }
    }

    pub(super) fn is_fresh(&self, now: SystemTime) -> bool {
        self.minted <= now && now < self.stale
    }
}

type Slot = Arc<AsyncMutex<Option<Arc<Token>>>>;

/// The tokens that are in use.
#[derive(Debug, Default)]
pub(super) struct Tokens(Mutex<HashMap<Scope, Slot>>);

impl Tokens {
    /// Forgets `refused`, unless somebody has replaced it already.
    pub(super) async fn forget(&self, scope: Scope, refused: &Arc<Token>, now: SystemTime) {
        let slot = self.slot(scope, now);
        let mut kept = slot.lock().await;
        if kept.as_ref().is_some_and(|token| Arc::ptr_eq(token, refused)) {
            *kept = None;
        }
    }

    /// Where the token for `scope` is kept. Whoever mints one holds the lock.
    pub(super) fn slot(&self, scope: Scope, now: SystemTime) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody holds and nothing fresh is in would only pile up.
        slots.retain(|kept, slot| {
            *kept == scope
                || Arc::strong_count(slot) > 1
                || slot
                    .try_lock()
                    .is_ok_and(|token| token.as_ref().is_some_and(|token| token.is_fresh(now)))
        });
        Arc::clone(slots.entry(scope).or_default())
    }
}
