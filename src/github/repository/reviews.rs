//! Reviews and their comments on lines.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Repository, hundred_a_page};
use crate::github::{GitHubError, Result, User, text_limits, time, user};

/// The side of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Side {
    /// What is removed.
    Left,
    /// What is added, and what stays.
    Right,
}

/// A comment on lines, to be made. GitHub takes a review whole or not at all: both ends must lie in
/// one hunk of the pull request's diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewComment {
    pub path: String,
    pub body: String,
    /// The last line, from 1.
    pub line: u32,
    pub side: Side,
    /// The first line where there is more than one: less than `line`. Goes with `start_side`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_side: Option<Side>,
}

/// What a review says of the whole. This App neither approves nor demands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReviewEvent {
    #[default]
    Comment,
}

/// A review to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewReview {
    /// The commit whose lines are meant. Without it GitHub takes the newest, whatever that is by then.
    pub commit_id: String,
    pub body: String,
    pub event: ReviewEvent,
    pub comments: Vec<ReviewComment>,
}

/// A review that was made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Review {
    pub id: u64,
    pub node_id: String,
    #[serde(default)]
    pub body: String,
    #[serde(default = "User::ghost", deserialize_with = "user::or_ghost")]
    pub user: User,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED` or `PENDING`.
    pub state: String,
    /// GitHub moves it to the new head when a branch is force-pushed: no proof of what was reviewed.
    #[serde(default)]
    pub commit_id: Option<String>,
    #[serde(default, deserialize_with = "time::moment_if_any")]
    pub submitted_at: Option<SystemTime>,
    /// For people.
    #[serde(default)]
    pub html_url: String,
}

/// A comment on lines that was made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PostedReviewComment {
    pub id: u64,
    pub node_id: String,
    #[serde(rename = "pull_request_review_id", default)]
    pub review: Option<u64>,
    pub path: String,
    pub body: String,
    #[serde(default = "User::ghost", deserialize_with = "user::or_ghost")]
    pub user: User,
    /// `None` where it is outdated or on the whole file.
    #[serde(default)]
    pub line: Option<u32>,
    #[serde(default)]
    pub start_line: Option<u32>,
    #[serde(default)]
    pub side: Option<Side>,
    pub commit_id: String,
    #[serde(deserialize_with = "time::moment")]
    pub created_at: SystemTime,
}

/// The most comments that GitHub has been seen to take in one review.
const MAX_COMMENTS: usize = 100;

impl NewReview {
    /// Why GitHub would not take it, as far as that shows without the diff.
    fn check(&self) -> Result<()> {
        let refused = |why: String| Err(GitHubError::Unprocessable(format!("{why}: not sent")));
        text_limits::check_body(&self.body)?;
        if self.comments.len() > MAX_COMMENTS {
            return refused(format!("a review has at most {MAX_COMMENTS} comments"));
        }
        for comment in &self.comments {
            text_limits::check_body(&comment.body)?;
            let starts = comment.start_line.is_some();
            if starts != comment.start_side.is_some() {
                return refused("start_line and start_side go together".to_owned());
            }
            if comment.start_line.is_some_and(|start| start >= comment.line) {
                return refused(format!(
                    "a comment on {} begins after its line {}",
                    comment.path, comment.line
                ));
            }
        }
        Ok(())
    }
}

impl Repository {
    /// All reviews of a pull request, oldest first.
    pub async fn reviews(&self, number: u64) -> Result<Vec<Review>> {
        let url = self.url(["pulls", &number.to_string(), "reviews"])?;
        self.list(url + &hundred_a_page([])).await
    }

    /// All comments on lines of a pull request, oldest first.
    pub async fn review_comments(&self, number: u64) -> Result<Vec<PostedReviewComment>> {
        let url = self.url(["pulls", &number.to_string(), "comments"])?;
        self.list(url + &hundred_a_page([])).await
    }

    /// Makes a review, all of it or nothing: one comment outside the diff is
    /// [`GitHubError::Unprocessable`], and GitHub does not say which.
    pub async fn create_review(&self, number: u64, new: &NewReview) -> Result<Review> {
        new.check()?;
        self.post(self.url(["pulls", &number.to_string(), "reviews"])?, new).await
    }
}
