//! What a person may do in the repository. Whoever is not known to have a permission has none.

use serde::Deserialize;

use super::Repository;
use crate::github::{Result, error};

/// GitHub's four levels: "maintain" counts as write, "triage" as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
pub enum Permission {
    None,
    Read,
    Write,
    Admin,
}

impl From<String> for Permission {
    fn from(word: String) -> Self {
        match word.as_str() {
            "admin" => Self::Admin,
            "write" => Self::Write,
            "read" => Self::Read,
            _ => Self::None,
        }
    }
}

#[derive(Deserialize)]
struct Collaborator {
    permission: Permission,
}

impl Repository {
    /// What `login` may do here, now.
    pub async fn permission(&self, login: &str) -> Result<Permission> {
        let url = self.url(["collaborators", login, "permission"])?;
        let collaborator = error::found(self.get::<Collaborator>(url).await)?;
        Ok(collaborator.map_or(Permission::None, |known| known.permission))
    }
}
