//! What GitHub takes of a text. Beyond it the whole request is refused, so it is not sent.

use super::{GitHubError, Result};

/// The most characters in the body of a comment, a review or a pull request.
pub const MAX_BODY_CHARACTERS: usize = 65_536;
/// The most characters in the summary and in the text of a check run, each.
pub(super) const CHECK_TEXT: usize = 65_535;
/// The most buttons of a check run.
pub(super) const ACTIONS: usize = 3;
/// The most characters in a button's label, its description and its identifier.
pub(super) const ACTION: [(&str, usize); 3] =
    [("label", 20), ("description", 40), ("identifier", 20)];

/// An error where `text` is longer than `most` characters; `what` names it.
pub(super) fn check(what: &str, text: &str, most: usize) -> Result<()> {
    let characters = text.chars().count();
    if characters <= most {
        return Ok(());
    }
    Err(GitHubError::Unprocessable(format!(
        "{what} has {characters} characters, GitHub takes {most}: not sent"
    )))
}

pub(super) fn check_body(text: &str) -> Result<()> {
    check("the body", text, MAX_BODY_CHARACTERS)
}
