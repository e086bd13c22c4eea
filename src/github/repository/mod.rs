//! One repository at GitHub: a method for every operation, in a file for each kind of thing.

mod branches;
mod checks;
mod comments;
mod content;
mod labels;
mod permission;
mod pulls;
mod reactions;
mod reviews;

use std::{fmt, sync::Arc};

use http::Method;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    GitHubError, Result, paging, route,
    session::{As, Session},
    token::Scope,
    transport::{Answer, Request},
};

pub use branches::NewPull;
pub use checks::{CheckAction, CheckConclusion, CheckRun, CheckStatus, NewCheckRun};
pub use comments::Comment;
pub use content::MAX_CONTENT_BYTES;
pub use permission::Permission;
pub use pulls::{BranchPoint, Label, Pull, PullFile, PullHead, PullState};
pub use reactions::Reaction;
pub use reviews::{NewReview, PostedReviewComment, Review, ReviewComment};

/// A repository by its number, which stays, and its `owner/name`, which may change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
pub struct RepositoryName {
    pub id: u64,
    pub full_name: String,
}

/// One repository, as one installation of the App sees it.
#[derive(Clone)]
pub struct Repository {
    session: Arc<Session>,
    scope: Scope,
    full_name: Arc<str>,
    app_id: u64,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository")
            .field("full_name", &self.full_name)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl Repository {
    pub(super) fn new(session: Arc<Session>, scope: Scope, full_name: &str, app_id: u64) -> Self {
        Self { session, scope, full_name: full_name.into(), app_id }
    }

    #[must_use]
    pub fn id(&self) -> u64 {
        self.scope.repository
    }

    #[must_use]
    pub fn installation(&self) -> u64 {
        self.scope.installation
    }

    /// `owner/name`.
    #[must_use]
    pub fn full_name(&self) -> &str {
        &self.full_name
    }

    fn owner(&self) -> &str {
        self.full_name.split('/').next().unwrap_or_default()
    }

    fn asker(&self) -> As {
        As::Installation(self.scope)
    }

    /// The address of something in this repository.
    fn url<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Result<String> {
        let Some((owner, name)) = self
            .full_name
            .split_once('/')
            .filter(|(owner, name)| [owner, name].iter().all(|part| is_name(part)))
        else {
            let name = self.full_name.chars().take(100).collect::<String>();
            return Err(GitHubError::Setup(format!("{name:?} is not owner/name of a repository")));
        };
        let path = route::path(["repos", owner, name]) + &route::path(segments);
        Ok(self.session.address.rest(&path))
    }

    async fn get<T: DeserializeOwned>(&self, url: String) -> Result<T> {
        self.session.call(self.asker(), &Request::get(url)).await?.json()
    }

    /// All items of a list, page by page.
    async fn list<T: DeserializeOwned>(&self, url: String) -> Result<Vec<T>> {
        self.pages(url, Answer::json).await
    }

    async fn pages<T>(
        &self,
        url: String,
        items: impl Fn(&Answer) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        paging::collect(&self.session, self.asker(), url, items, |_| false).await
    }

    /// Sends a write, once.
    async fn write(&self, method: Method, url: String, body: Option<Value>) -> Result<Answer> {
        self.session.call(self.asker(), &Request::new(method, url, body)).await
    }

    async fn post<B: Serialize, T: DeserializeOwned>(&self, url: String, body: &B) -> Result<T> {
        self.write(Method::POST, url, Some(json(body)?)).await?.json()
    }

    async fn patch<B: Serialize, T: DeserializeOwned>(&self, url: String, body: &B) -> Result<T> {
        self.write(Method::PATCH, url, Some(json(body)?)).await?.json()
    }
}

fn json<B: Serialize>(body: &B) -> Result<Value> {
    serde_json::to_value(body)
        .map_err(|error| GitHubError::Unprocessable(format!("a body that is no JSON: {error}")))
}

/// What GitHub takes for a name.
fn is_name(part: &str) -> bool {
    !part.is_empty()
        && part != "."
        && part != ".."
        && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Anything that GitHub knows by a number of its own.
#[derive(Debug, serde::Deserialize)]
struct Numbered {
    id: u64,
}

fn hundred_a_page<'a>(more: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    route::query(more.into_iter().chain([("per_page", "100")]))
}
