//! Reviews and their comments on lines.

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Repository, hundred_a_page};
use crate::github::{GitHubError, Result, User, text_limits, time, user};

/// A comment to be made on lines as they are at the pull request's head: added ones, or ones that
/// stay. GitHub takes a review whole or not at all: both ends must lie in one hunk of its diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewComment {
    pub path: String,
    pub body: String,
    /// The last line, from 1.
    pub line: u32,
    /// The first line where there is more than one: less than `line`.
    pub start_line: Option<u32>,
}

/// A review to be made. It neither approves nor asks for changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReview {
    /// The commit whose lines are meant. Without it GitHub takes the newest, whatever that is by then.
    pub commit_id: String,
    pub body: String,
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
    pub html_url: Option<String>,
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
    pub commit_id: String,
    #[serde(deserialize_with = "time::moment")]
    pub created_at: SystemTime,
}

/// The most comments that GitHub has been seen to take in one review.
const MAX_COMMENTS: usize = 100;

impl NewReview {
    /// The body of the request, or why GitHub would not take it, as far as that shows without the diff.
    fn request(&self) -> Result<Value> {
        let refused = |why: String| Err(GitHubError::Unprocessable(format!("{why}: not sent")));
        text_limits::check_body(&self.body)?;
        if self.comments.len() > MAX_COMMENTS {
            return refused(format!("a review has at most {MAX_COMMENTS} comments"));
        }
        for comment in &self.comments {
            text_limits::check_body(&comment.body)?;
            if comment.start_line.is_some_and(|start| start >= comment.line) {
                return refused(format!(
                    "a comment on {} must begin before its last line, {}",
                    comment.path, comment.line
                ));
            }
        }
        let comments: Vec<Value> = self.comments.iter().map(ReviewComment::request).collect();
        Ok(json!({
            "commit_id": self.commit_id,
            "body": self.body,
            "event": "COMMENT",
            "comments": comments,
        }))
    }
}

impl ReviewComment {
    fn request(&self) -> Value {
        let mut request = json!({
            "path": self.path,
            "body": self.body,
            "line": self.line,
            "side": "RIGHT",
        });
        // GitHub refuses a range of one line, so a start is only there where it is another line.
        if let Some(start) = self.start_line {
            request["start_line"] = start.into();
            request["start_side"] = "RIGHT".into();
        }
        request
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
        let request = new.request()?;
        self.post(self.url(["pulls", &number.to_string(), "reviews"])?, &request).await
    }
}
