//! Accounts.

use serde::{Deserialize, Deserializer};

/// Who wrote something.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct User {
    pub login: String,
    pub id: u64,
    /// `User`, `Bot` or `Organization`.
    #[serde(rename = "type", default)]
    pub kind: String,
}

impl User {
    /// What GitHub puts in the place of an account that was deleted.
    #[must_use]
    pub fn ghost() -> Self {
        Self { login: "ghost".to_owned(), id: 10_137, kind: "User".to_owned() }
    }

    #[must_use]
    pub fn is_bot(&self) -> bool {
        self.kind == "Bot"
    }
}

/// For `#[serde(deserialize_with)]`: `null` is the ghost.
pub(super) fn or_ghost<'de, D: Deserializer<'de>>(deserializer: D) -> Result<User, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(User::ghost))
}
