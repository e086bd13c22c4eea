//! Labels of a pull request.

use http::Method;

use super::Repository;
use crate::github::{Result, error};

impl Repository {
    /// Takes a label off. That it was not on is fine.
    pub async fn remove_label(&self, issue: u64, label: &str) -> Result<()> {
        let url = self.url(["issues", &issue.to_string(), "labels", label])?;
        error::found(self.write(Method::DELETE, url, None).await).map(drop)
    }
}
