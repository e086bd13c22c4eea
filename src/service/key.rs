//! What makes an effect the same effect. The same text is its key in the database, the hidden marker of
//! what it makes at GitHub, and a check run's external id.

use std::fmt;

use crate::{
    report::pull_request,
    store::service::{JobId, PullKey},
};

/// Key of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// The one check run of a pull request's head.
    Check { pull: PullKey, sha: String },
    /// The one result comment of a pull request's head.
    Result { pull: PullKey, sha: String },
    /// Suggestions, branch or patch of a job.
    Publish(JobId),
    /// An answer to a command.
    Reply { comment: u64 },
    /// A remark that is made once a pull request.
    Remark { pull: PullKey, about: String },
    /// A reaction to a comment.
    ReactToComment { comment: u64, with: &'static str },
    /// A reaction to a pull request, once a job.
    ReactToPull(JobId),
    /// The label is taken off, once a head.
    Unlabel { pull: PullKey, sha: String },
    /// Results of older heads are folded away.
    Outdate { pull: PullKey, sha: String },
    /// The verified kernel is put on the branch, once a command.
    Commit { comment: u64 },
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check { pull, sha } => write!(f, "check {} {sha}", Shown(pull)),
            Self::Result { pull, sha } => write!(f, "result {} {sha}", Shown(pull)),
            Self::Publish(job) => write!(f, "publish {job}"),
            Self::Reply { comment } => write!(f, "reply {comment}"),
            Self::Remark { pull, about } => write!(f, "remark {} {about}", Shown(pull)),
            Self::ReactToComment { comment, with } => write!(f, "react {comment} {with}"),
            Self::ReactToPull(job) => write!(f, "react job {job}"),
            Self::Unlabel { pull, sha } => write!(f, "unlabel {} {sha}", Shown(pull)),
            Self::Outdate { pull, sha } => write!(f, "outdate {} {sha}", Shown(pull)),
            Self::Commit { comment } => write!(f, "commit {comment}"),
        }
    }
}

/// A pull request as it stands in keys.
struct Shown<'p>(&'p PullKey);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PullKey { installation, repository, number } = self.0;
        write!(f, "{installation}/{repository}/{number}")
    }
}

/// The pull request and head that a check run's external id names; `None` where it is none of ours.
pub fn of_check(external_id: &str) -> Option<(PullKey, String)> {
    let mut words = external_id.strip_prefix("check ")?.split(' ');
    let (pull, sha) = (words.next()?, words.next()?);
    if words.next().is_some() || sha.len() != 40 {
        return None;
    }
    let mut numbers = pull.split('/').map(|number| number.parse().ok());
    let mut number = || numbers.next().flatten();
    let pull = PullKey { installation: number()?, repository: number()?, number: number()? };
    Some((pull, sha.to_owned()))
}

/// The hidden line that the text with a key, as it stands in the database, begins with.
pub fn marker_of(key: &str) -> String {
    let (kind, rest) = key.split_once(' ').unwrap_or((key, ""));
    pull_request::marker(kind, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_runs_external_id_leads_back_to_its_pull_request() {
        let pull = PullKey { installation: 5, repository: 77, number: 12 };
        let sha = "0123456789abcdef0123456789abcdef01234567".to_owned();
        let key = Key::Check { pull, sha: sha.clone() };
        assert_eq!(of_check(&key.to_string()), Some((pull, sha.clone())));
        for other in ["", "check", "check 5/77 abc", "publish 7", &format!("check 5/77/12 {sha} x")]
        {
            assert_eq!(of_check(other), None, "{other}");
        }
    }

    #[test]
    fn keys_of_different_things_have_different_markers() {
        let pull = PullKey { installation: 5, repository: 77, number: 12 };
        let other = PullKey { installation: 57, repository: 7, number: 12 };
        let sha = "0123456789abcdef0123456789abcdef01234567".to_owned();
        let keys = [
            Key::Check { pull, sha: sha.clone() },
            Key::Result { pull, sha: sha.clone() },
            Key::Result { pull: other, sha },
            Key::Publish(JobId("ab12".into())),
            Key::Reply { comment: 1 },
            Key::Commit { comment: 1 },
            Key::Remark { pull, about: "x".into() },
            Key::ReactToComment { comment: 1, with: "eyes" },
        ];
        let markers: std::collections::BTreeSet<String> =
            keys.iter().map(|key| marker_of(&key.to_string())).collect();
        assert_eq!(markers.len(), keys.len());
    }
}
