//! What can go wrong between the App and GitHub, by what a caller does about it.

use std::time::{Duration, SystemTime};

/// What a call to GitHub gives.
pub type Result<T> = std::result::Result<T, GitHubError>;

/// Why GitHub did not do what it was asked. No text in here holds a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitHubError {
    /// 404. GitHub also says so where the App may not know that it exists.
    #[error(
        "GitHub has no such thing, or this App may not see it: check that the App is installed \
         on the repository"
    )]
    NotFound,
    /// 403 that no waiting changes.
    #[error("GitHub does not allow it: {0}; check the App's permissions and its installation")]
    Forbidden(String),
    /// 4xx: the request asks for something that cannot be, for example a comment on a line outside
    /// the diff, or a branch that is not behind the new commit.
    #[error("GitHub refused the request: {0}")]
    Unprocessable(String),
    /// Too many requests, by the hour or at once: nothing may be asked before `until`.
    #[error("GitHub asks to wait until {}", humantime::format_rfc3339_seconds(*.until))]
    RateLimited { until: SystemTime },
    /// 401 also with a fresh token.
    #[error(
        "GitHub does not accept the App's credentials: check the App id and that its private key \
         was not revoked"
    )]
    Unauthorized,
    /// 410: it existed and never will again.
    #[error("GitHub says that it is gone for good")]
    Gone,
    /// 5xx, or the connection failed.
    #[error("GitHub could not be reached or is in trouble: {reason}")]
    Transient {
        reason: String,
        /// Whether GitHub may have done what was asked. Look before a write is repeated.
        may_have_arrived: bool,
    },
    /// An answer that cannot be read.
    #[error("GitHub's answer makes no sense: {0}")]
    Invalid(String),
    /// The address or the key that was configured cannot be used.
    #[error("{0}")]
    Setup(String),
}

const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

impl GitHubError {
    /// When asking again makes sense; `None`: never. `attempt` counts the attempts that failed,
    /// this one included. Before a write with [`Self::may_have_arrived`] is repeated, look whether
    /// it took place.
    #[must_use]
    pub fn retry_at(&self, attempt: u32, now: SystemTime) -> Option<SystemTime> {
        match self {
            // Where GitHub named no time, `until` has doubled with every refusal already.
            Self::RateLimited { until } => Some((*until).max(now)),
            Self::Transient { .. } => Some(now + doubled(FIRST_WAIT, attempt, LONGEST_WAIT)),
            Self::NotFound
            | Self::Forbidden(_)
            | Self::Unprocessable(_)
            | Self::Unauthorized
            | Self::Gone
            | Self::Invalid(_)
            | Self::Setup(_) => None,
        }
    }

    /// Whether GitHub may have done what was asked although it failed. An answer that cannot be
    /// read comes after the deed.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        matches!(self, Self::Transient { may_have_arrived: true, .. } | Self::Invalid(_))
    }
}

/// `first` doubled for every attempt after the first.
pub(super) fn doubled(first: Duration, attempt: u32, longest: Duration) -> Duration {
    let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

/// For `Option`s: a thing that is not there is an answer.
pub(super) fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(thing) => Ok(Some(thing)),
        Err(GitHubError::NotFound) => Ok(None),
        Err(other) => Err(other),
    }
}
