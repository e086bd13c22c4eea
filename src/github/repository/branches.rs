//! Branches made through the API: blob, tree, commit, reference, and a pull request of it. Nothing
//! is ever forced.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Pull, Repository};
use crate::github::{GitHubError, Result, error, route, text_limits};

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
struct Tree {
    tree: Vec<TreeEntry>,
}

#[derive(Deserialize)]
struct TreeEntry {
    path: String,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
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

    /// A tree like `base_tree` but for `files`, pairs of a path and a blob, and its SHA. A file that
    /// was executable stays so.
    pub async fn create_tree(&self, base_tree: &str, files: &[(String, String)]) -> Result<String> {
        let mut tree = Vec::with_capacity(files.len());
        for (path, blob) in files {
            let mode = self.mode(base_tree, path).await?;
            tree.push(json!({"path": path, "mode": mode, "type": "blob", "sha": blob}));
        }
        let body = json!({"base_tree": base_tree, "tree": tree});
        self.made(self.url(["git", "trees"])?, &body).await
    }

    /// The mode that the file `path` has in `tree`; that of an ordinary file where there is none.
    async fn mode(&self, tree: &str, path: &str) -> Result<String> {
        let mut tree = tree.to_owned();
        let mut segments = route::slashed(path).peekable();
        while let Some(segment) = segments.next() {
            let listed: Tree = self.get(self.url(["git", "trees", &tree])?).await?;
            let Some(entry) = listed.tree.into_iter().find(|entry| entry.path == segment) else {
                break;
            };
            match (segments.peek(), entry.kind.as_str(), entry.mode.as_str()) {
                (Some(_), "tree", _) => tree = entry.sha,
                (None, "blob", "100644" | "100755") => return Ok(entry.mode),
                _ => {
                    let why = format!("{path} is no ordinary file in the repository");
                    return Err(GitHubError::Unprocessable(why));
                }
            }
        }
        Ok("100644".to_owned())
    }

    /// A commit of a tree, by the App, now, and its SHA.
    pub async fn create_commit(
        &self,
        message: &str,
        tree: &str,
        parents: &[String],
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
