//! Floor 3: GitHub's side of the wire. App authentication, REST calls, and what fits into a pull
//! request. Knows nothing of jobs; what is to be said comes in as text.
//!
//! A call passes four doors, one file each:
//!
//! | file | its one idea |
//! | --- | --- |
//! | `repository/` | what is asked: a method per operation, small structs for what comes back |
//! | `session` | who asks: an App's JWT or an installation's token, and what a 401 means |
//! | `transport` | one request, one answer: redirects, time-outs, the size of an answer |
//! | `answer` | what an answer means: JSON, or one of the kinds of [`GitHubError`] |
//!
//! Reads are repeated a few times where GitHub or the network stumbles. **A write is never
//! repeated here** once it may have arrived: whoever asked looks first whether it took place.

mod address;
mod answer;
mod app;
mod client;
mod clock;
mod error;
mod graphql;
mod hook_deliveries;
mod link;
mod pace;
mod paging;
mod patience;
mod quota;
mod repository;
mod route;
mod session;
pub mod signature;
pub mod suggest;
mod text_limits;
mod throttle;
mod time;
mod token;
mod transport;
mod user;
mod wire;

pub use app::{AppCredentials, AppInfo};
pub use client::GitHub;
pub use clock::{SystemWallClock, WallClock};
pub use error::{GitHubError, Result};
pub use hook_deliveries::HookDelivery;
pub use quota::Quota;
pub use repository::{
    BranchPoint, CheckAction, CheckConclusion, CheckRun, CheckStatus, Comment, Label,
    MAX_CONTENT_BYTES, NewCheckRun, NewPull, NewReview, Permission, PostedReviewComment, Pull,
    PullFile, PullHead, PullState, Reaction, Repository, RepositoryName, Review, ReviewComment,
};
pub use text_limits::MAX_BODY_CHARACTERS;
pub use user::User;
