//! Comments under a pull request.

use std::time::SystemTime;

use http::Method;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::{Numbered, Repository, hundred_a_page};
use crate::github::{Result, User, graphql, text_limits, time, user};

/// A comment of an issue or a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Comment {
    pub id: u64,
    /// Its name in GraphQL.
    pub node_id: String,
    #[serde(default)]
    pub body: String,
    #[serde(default = "User::ghost", deserialize_with = "user::or_ghost")]
    pub user: User,
    /// The App that wrote it, if one did.
    #[serde(rename = "performed_via_github_app", default, deserialize_with = "app")]
    pub performed_via_app: Option<u64>,
    #[serde(deserialize_with = "time::moment")]
    pub created_at: SystemTime,
}

fn app<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<u64>, D::Error> {
    Ok(Option::<Numbered>::deserialize(deserializer)?.map(|app| app.id))
}

const MINIMIZE: &str = "mutation($id: ID!) { \
    minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { \
    minimizedComment { isMinimized } } }";

impl Repository {
    /// All comments of an issue or a pull request, oldest first.
    pub async fn comments(&self, issue: u64) -> Result<Vec<Comment>> {
        let url = self.url(["issues", &issue.to_string(), "comments"])?;
        self.list(url + &hundred_a_page([])).await
    }

    pub async fn create_comment(&self, issue: u64, body: &str) -> Result<Comment> {
        text_limits::check_body(body)?;
        let url = self.url(["issues", &issue.to_string(), "comments"])?;
        self.post(url, &json!({"body": body})).await
    }

    pub async fn update_comment(&self, comment: u64, body: &str) -> Result<Comment> {
        text_limits::check_body(body)?;
        let url = self.url(["issues", "comments", &comment.to_string()])?;
        self.patch(url, &json!({"body": body})).await
    }

    pub async fn delete_comment(&self, comment: u64) -> Result<()> {
        let url = self.url(["issues", "comments", &comment.to_string()])?;
        self.write(Method::DELETE, url, None).await.map(drop)
    }

    /// Folds a comment as outdated. `node_id` is [`Comment::node_id`].
    pub async fn minimize_comment(&self, node_id: &str) -> Result<()> {
        graphql::mutate(&self.session, self.scope, MINIMIZE, json!({"id": node_id})).await
    }
}
