//! Reactions: an answer that notifies nobody. Giving the same one twice changes nothing.

use serde::Serialize;
use serde_json::json;

use super::{Numbered, Repository};
use crate::github::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reaction {
    #[serde(rename = "+1")]
    ThumbsUp,
    #[serde(rename = "-1")]
    ThumbsDown,
    Laugh,
    Confused,
    Heart,
    Hooray,
    Rocket,
    Eyes,
}

impl Repository {
    /// Reacts to a comment of an issue or a pull request.
    pub async fn react_to_comment(&self, comment: u64, reaction: Reaction) -> Result<()> {
        self.react(["issues", "comments", &comment.to_string(), "reactions"], reaction).await
    }

    /// Reacts to an issue or a pull request itself.
    pub async fn react_to_issue(&self, number: u64, reaction: Reaction) -> Result<()> {
        self.react(["issues", &number.to_string(), "reactions"], reaction).await
    }

    async fn react<const N: usize>(&self, to: [&str; N], reaction: Reaction) -> Result<()> {
        let body = json!({"content": reaction});
        self.post::<_, Numbered>(self.url(to)?, &body).await.map(drop)
    }
}
