//! Files and history.

use http::header::CONTENT_TYPE;
use serde::Deserialize;

use super::Repository;
use crate::github::{
    GitHubError, Result, error, route, throttle,
    transport::{RAW, Request},
};

/// The most bytes of a file that is read through the API: configurations and kernels.
pub const MAX_CONTENT_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct Comparison {
    merge_base_commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    sha: String,
}

impl Repository {
    /// The bytes of a file at a commit or branch; `None` where there is no such file (a folder is
    /// none). An error where it has more than [`MAX_CONTENT_BYTES`].
    pub async fn content(&self, path: &str, reference: &str) -> Result<Option<Vec<u8>>> {
        let segments = || route::slashed(path);
        if segments().any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(GitHubError::Unprocessable(format!(
                "{path:?} is no path of a file in a repository"
            )));
        }
        let url = self.url(["contents"].into_iter().chain(segments()))?;
        let mut request = Request::get(url + &route::query([("ref", reference)]));
        request.accept = RAW;
        request.max_bytes = MAX_CONTENT_BYTES;
        let answer = self.session.call(self.asker(), &request).await;
        Ok(error::found(answer)?.and_then(|answer| {
            // A folder or a submodule has no bytes, so JSON about it comes in spite of the asking.
            let kind = throttle::text(&answer.headers, CONTENT_TYPE.as_str()).unwrap_or_default();
            (!kind.starts_with("application/json")).then(|| answer.body.to_vec())
        }))
    }

    /// The newest commit that both have, as `git merge-base` says.
    pub async fn merge_base(&self, base: &str, head: &str) -> Result<String> {
        let url = self.url(["compare", &format!("{base}...{head}")])?;
        let comparison: Comparison = self.get(url + &route::query([("per_page", "1")])).await?;
        Ok(comparison.merge_base_commit.sha)
    }
}
