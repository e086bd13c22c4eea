//! Pull requests: what they are and what they change.

use serde::{Deserialize, Deserializer};

use super::{Repository, RepositoryName, hundred_a_page};
use crate::github::{GitHubError, Result, User, user};

/// Whether a pull request is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    Open,
    Closed,
}

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub struct Pull {
    pub number: u64,
    pub state: PullState,
    pub merged: bool,
    pub draft: bool,
    pub title: String,
    pub head: PullHead,
    pub base: BranchPoint,
    /// Whether those who may push to the base may also push to the head of a fork. Lists do not
    /// say, which reads as `false`.
    pub maintainer_can_modify: bool,
    pub labels: Vec<Label>,
    /// Who opened it.
    pub user: User,
    /// For people.
    pub html_url: Option<String>,
}

impl Pull {
    /// Whether the head lies in another repository than the base. A deleted one was another.
    #[must_use]
    pub fn is_from_fork(&self) -> bool {
        self.head.repo.as_ref().is_none_or(|repo| repo.id != self.base.repo.id)
    }

    #[must_use]
    pub fn has_label(&self, name: &str) -> bool {
        self.labels.iter().any(|label| label.name == name)
    }
}

/// The end of a pull request that is to be merged.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PullHead {
    pub sha: String,
    /// The branch, without `refs/heads/`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// `None` where the fork was deleted.
    pub repo: Option<RepositoryName>,
}

/// The end of a pull request that is merged into.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BranchPoint {
    pub sha: String,
    /// The branch, without `refs/heads/`.
    #[serde(rename = "ref")]
    pub reference: String,
    pub repo: RepositoryName,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Label {
    pub name: String,
}

/// As GitHub sends it: alone with `merged`, in lists with `merged_at`.
#[derive(Deserialize)]
struct Wire {
    number: u64,
    state: PullState,
    #[serde(default)]
    merged: bool,
    #[serde(default)]
    merged_at: Option<String>,
    #[serde(default)]
    draft: bool,
    title: String,
    head: PullHead,
    base: BranchPoint,
    #[serde(default)]
    maintainer_can_modify: bool,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default = "User::ghost", deserialize_with = "user::or_ghost")]
    user: User,
    #[serde(default)]
    html_url: Option<String>,
}

impl From<Wire> for Pull {
    fn from(wire: Wire) -> Self {
        Self {
            number: wire.number,
            state: wire.state,
            merged: wire.merged || wire.merged_at.is_some(),
            draft: wire.draft,
            title: wire.title,
            head: wire.head,
            base: wire.base,
            maintainer_can_modify: wire.maintainer_can_modify,
            labels: wire.labels,
            user: wire.user,
            html_url: wire.html_url,
        }
    }
}

/// A file that a pull request touches.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PullFile {
    pub filename: String,
    #[serde(default)]
    pub previous_filename: Option<String>,
    /// `added`, `removed`, `modified`, `renamed`, `copied`, `changed` or `unchanged`.
    pub status: String,
    /// Hunks without the header of a diff; none where the file is big or binary.
    #[serde(default)]
    pub patch: Option<String>,
    /// Of the blob; none for some removed files.
    #[serde(default, deserialize_with = "or_empty")]
    pub sha: String,
}

fn or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Repository {
    /// A pull request as it is now.
    pub async fn pull(&self, number: u64) -> Result<Pull> {
        self.get(self.url(["pulls", &number.to_string()])?).await
    }

    /// The files that a pull request touches. GitHub lists 3,000 at most and does not say that there
    /// are more, so a list of 3,000 may be cut.
    pub async fn pull_files(&self, number: u64) -> Result<Vec<PullFile>> {
        let url = self.url(["pulls", &number.to_string(), "files"])?;
        self.list(url + &hundred_a_page([])).await
    }

    /// Pull requests whose head is `branch` of this repository, open or not, the newest first.
    pub async fn pulls_with_head(&self, branch: &str) -> Result<Vec<Pull>> {
        // GitHub ignores a filter that it cannot read, and then lists every pull request.
        if branch.is_empty() {
            return Err(GitHubError::Unprocessable("a branch without a name".to_owned()));
        }
        let head = format!("{}:{branch}", self.owner());
        let query = hundred_a_page([("head", head.as_str()), ("state", "all")]);
        let pulls: Vec<Pull> = self.list(self.url(["pulls"])? + &query).await?;
        Ok(pulls
            .into_iter()
            .filter(|pull| pull.head.reference == branch && !pull.is_from_fork())
            .collect())
    }

    /// Pull requests that a commit is part of. Checks of forks do not name theirs.
    pub async fn pulls_with_commit(&self, sha: &str) -> Result<Vec<Pull>> {
        self.list(self.url(["commits", sha, "pulls"])? + &hundred_a_page([])).await
    }
}
