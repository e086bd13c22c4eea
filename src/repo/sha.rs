//! The name of a commit.

use std::fmt;
use std::str::FromStr;

use super::RepoError;

/// A full SHA-1 of a commit: 40 lowercase hexadecimal digits. An abbreviation is no name for
/// something that was approved.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha(String);

impl Sha {
    /// The 40 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn oid(&self) -> Result<git2::Oid, RepoError> {
        Ok(git2::Oid::from_str(&self.0)?)
    }
}

impl FromStr for Sha {
    type Err = RepoError;

    fn from_str(text: &str) -> Result<Self, RepoError> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && text.len() == 40 {
            Ok(Self(text.to_owned()))
        } else {
            Err(RepoError::NotASha(text.chars().take(60).collect()))
        }
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
