//! Branches made through the API: blob, tree, commit, reference, and a pull request of it. Nothing
//! is ever forced.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Pull, Repository};
use crate::github::{GitHubError, Result, error, route, text_limits};

/// A file in a new tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub path: String,
    /// Its mode as git writes it: `100644`, or `100755` for what can be executed.
    pub mode: String,
    /// Of the blob.
    pub sha: String,
}

/// A pull request to be made, within this repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewPull {
    pub title: String,
    /// The branch to be merged.
    pub head: String,
    /// The branch to merge into.
    pub base: String,
    pub body: String,
    pub draft: bool,
}

#[derive(Deserialize)]
struct Object {
    sha: String,
}

#[derive(Deserialize)]
struct Reference {
    object: Object,
}

#[derive(Deserialize)]
struct CommitObject {
    tree: Object,
}

impl Repository {
    /// Stores the bytes of a file and gives its SHA.
    pub async fn create_blob(&self, content: &[u8]) -> Result<String> {
        let body = json!({"content": STANDARD.encode(content), "encoding": "base64"});
        self.made(self.url(["git", "blobs"])?, &body).await
    }

    /// A tree like `base_tree` with `entries` put in, and its SHA.
    pub async fn create_tree(&self, base_tree: &str, entries: &[TreeEntry]) -> Result<String> {
        let tree: Vec<_> = entries
            .iter()
            .map(|entry| {
                json!({"path": entry.path, "mode": entry.mode, "type": "blob", "sha": entry.sha})
            })
            .collect();
        let body = json!({"base_tree": base_tree, "tree": tree});
        self.made(self.url(["git", "trees"])?, &body).await
    }

    /// A commit of a tree, by the App, now, and its SHA.
    pub async fn create_commit(
        &self,
        message: &str,
        tree: &str,
        parents: &[&str],
    ) -> Result<String> {
        let body = json!({"message": message, "tree": tree, "parents": parents});
        self.made(self.url(["git", "commits"])?, &body).await
    }

    /// The tree of a commit.
    pub async fn commit_tree(&self, commit: &str) -> Result<String> {
        let url = self.url(["git", "commits", commit])?;
        Ok(self.get::<CommitObject>(url).await?.tree.sha)
    }

    /// Where `reference` (`heads/NAME`) points; `None` where there is none.
    pub async fn get_ref(&self, reference: &str) -> Result<Option<String>> {
        let url = self.url(["git", "ref"].into_iter().chain(in_refs(reference)))?;
        Ok(error::found(self.get::<Reference>(url).await)?.map(|found| found.object.sha))
    }

    /// Makes `reference` (`heads/NAME`), which must not exist.
    pub async fn create_ref(&self, reference: &str, sha: &str) -> Result<()> {
        let name = format!("refs/{}", reference.strip_prefix("refs/").unwrap_or(reference));
        let body = json!({"ref": name, "sha": sha});
        self.post::<_, Reference>(self.url(["git", "refs"])?, &body).await.map(drop)
    }

    /// Moves `reference` (`heads/NAME`) on to a commit that has its present one behind it; anything
    /// else is [`GitHubError::Unprocessable`].
    pub async fn update_ref(&self, reference: &str, sha: &str) -> Result<()> {
        let url = self.url(["git", "refs"].into_iter().chain(in_refs(reference)))?;
        let body = json!({"sha": sha, "force": false});
        self.patch::<_, Reference>(url, &body).await.map(drop)
    }

    /// Opens a pull request. Where the plan has no drafts it becomes an ordinary one, which
    /// [`Pull::draft`] tells.
    pub async fn create_pull(&self, new: &NewPull) -> Result<Pull> {
        text_limits::check_body(&new.body)?;
        let url = self.url(["pulls"])?;
        match self.post(url.clone(), new).await {
            // A refusal is no pull request, so this asks for the first one.
            Err(GitHubError::Unprocessable(why)) if new.draft && speaks_of_drafts(&why) => {
                self.post(url, &NewPull { draft: false, ..new.clone() }).await
            }
            other => other,
        }
    }

    async fn made(&self, url: String, body: &serde_json::Value) -> Result<String> {
        let answer = self.write(Method::POST, url, Some(body.clone())).await?;
        Ok(answer.json::<Object>()?.sha)
    }
}

/// "Draft pull requests are not supported in this repository."
fn speaks_of_drafts(message: &str) -> bool {
    message.to_ascii_lowercase().contains("draft pull request")
}

fn in_refs(reference: &str) -> impl Iterator<Item = &str> {
    route::slashed(reference.strip_prefix("refs/").unwrap_or(reference))
}
