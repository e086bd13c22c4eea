//! What people read in a pull request. Everything here is text from facts; GitHub's side carries it.
//!
//! One comment a job with the verdict first and the rest folded; progress and what ended without a
//! gain go to the check run. What comes from code, contracts, models or GitHub's users is escaped,
//! and a text that would be too long loses whole sections, the least important first ([`fit`]).

mod action;
mod checks;
mod comment;
mod facts;
mod fit;
mod funnel;
mod progress;
mod replies;
mod review;
mod sections;
mod verdict;

pub use checks::{CheckText, Conclusion, check_conclusion, check_output};
pub use comment::result_comment;
pub use facts::{Delivered, KernelResult, PullRequestFacts, TestsPassed};
pub use progress::{KernelProgress, Phase, Progress, RungProgress};
pub use replies::{
    Asked, CommandHelp, FoundKernel, JobStatus, help, no_configuration, refusal, status,
};
pub use review::{ReviewedKernel, review_body, suggestion_prose};

/// Characters of a text on GitHub: it refuses more than 65,536 in a comment and 65,535 in a check run's
/// summary.
pub const LONGEST: usize = 60_000;

/// Begins every marker.
const MARK: &str = "<!-- kernelbrain:";

/// The hidden first line by which a text of ours is found again; `key` is the job, or whatever makes it
/// the only one of its `kind`.
pub fn marker(kind: &str, key: &str) -> String {
    let plain = |text: &str| -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._:".contains(c);
        text.chars().take(200).map(|c| if allowed(c) { c } else { '_' }).collect()
    };
    format!("{MARK}{} {} -->", plain(kind), plain(key))
}

/// Whether `body` is marked as the text of that kind and key. Only the first line counts, since
/// anything below may quote somebody; who wrote it is for the caller to check, for anybody can write
/// such a line.
pub fn is_marked(body: &str, kind: &str, key: &str) -> bool {
    body.lines().next().is_some_and(|line| line.trim_end() == marker(kind, key))
}
