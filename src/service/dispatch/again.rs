//! Whether and when something that GitHub did not do is tried again: pure.

use std::time::Duration;

use crate::{
    github::GitHubError,
    service::clock::{in_millis, millis},
    store::service::Millis,
};

/// What is done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Trying again cannot help.
    Never,
    At(Millis),
    /// Nothing of this installation can be done before this moment.
    AllAt(Millis),
}

/// Times that something is looked for that is not there: the App may have been taken off a moment ago,
/// or one of GitHub's replicas may be behind.
const LOOKED_FOR: u32 = 4;

/// What to do after `attempt` attempts that failed, this one included. Errors that are not the effect's
/// own, a limit or the App's credentials, do not use it up: what is owed is still owed when a new key
/// was put in place the next morning.
pub(super) fn again(error: &GitHubError, attempt: u32, at_most: u32, now: Millis) -> Again {
    let later = now + in_millis(backoff(attempt));
    match error {
        GitHubError::RateLimited { until } => Again::AllAt(millis(*until).max(now + 1000)),
        GitHubError::Unauthorized | GitHubError::Setup(_) => Again::AllAt(later),
        GitHubError::Forbidden(_) | GitHubError::Gone | GitHubError::Unprocessable(_) => {
            Again::Never
        }
        GitHubError::NotFound if attempt < LOOKED_FOR.min(at_most) => Again::At(later),
        GitHubError::NotFound => Again::Never,
        GitHubError::Transient { .. } | GitHubError::Invalid(_) if attempt < at_most => {
            Again::At(later)
        }
        GitHubError::Transient { .. } | GitHubError::Invalid(_) => Again::Never,
    }
}

/// 2 s, doubled each time, 10 minutes at most.
pub(super) fn backoff(attempt: u32) -> Duration {
    Duration::from_secs(2_u64.saturating_pow(attempt.min(10))).min(Duration::from_secs(600))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn transient() -> GitHubError {
        GitHubError::Transient { reason: "502".into(), may_have_arrived: true }
    }

    #[test]
    fn what_may_pass_is_tried_again_ever_later_and_not_for_ever() {
        let tries = [1, 2, 3, 15].map(|attempt| again(&transient(), attempt, 16, 0));
        assert_eq!(tries, [2_000, 4_000, 8_000, 600_000].map(Again::At));
        assert_eq!(again(&transient(), 16, 16, 0), Again::Never);
        assert_eq!(again(&GitHubError::NotFound, 3, 16, 0), Again::At(8_000));
        assert_eq!(again(&GitHubError::NotFound, 4, 16, 0), Again::Never);
    }

    #[test]
    fn a_refusal_is_a_refusal() {
        for error in [GitHubError::Forbidden("no".into()), GitHubError::Unprocessable("no".into())]
        {
            assert_eq!(again(&error, 1, 16, 0), Again::Never);
        }
    }

    #[test]
    fn limits_and_credentials_use_nothing_up_and_hold_up_the_whole_installation() {
        let until = SystemTime::UNIX_EPOCH + Duration::from_secs(90);
        let limited = GitHubError::RateLimited { until };
        assert_eq!(again(&limited, 99, 16, 0), Again::AllAt(90_000));
        assert_eq!(again(&limited, 1, 16, 200_000), Again::AllAt(201_000), "never at once");
        assert_eq!(again(&GitHubError::Unauthorized, 99, 16, 0), Again::AllAt(600_000));
    }
}
