//! "Commit suggestions", as one batch.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::git;
use super::pull_request::PullRequest;
use super::state::ReviewComment;

/// Why GitHub would not offer, or not take, a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    NoSuggestions,
    ClosedPull,
    PendingReview,
    Outdated {
        path: String,
    },
    /// Two suggestions of the batch touch one line.
    Overlap {
        path: String,
        line: u32,
    },
    NotOnTheRight {
        path: String,
    },
    /// Nobody has written down what GitHub commits where the last line of a file has no newline.
    NoNewlineAtEnd {
        path: String,
    },
    /// GitHub may rewrite line endings of such a file.
    CarriageReturns {
        path: String,
    },
}

impl PullRequest {
    /// Commits all suggestions of a review to the head branch in one commit, as the page does, and
    /// gives back the files' new text by path.
    pub fn apply_suggestions(
        &self,
        review: u64,
        by: &str,
    ) -> Result<Vec<(String, String)>, Refused> {
        let pull = self.now();
        if !pull.open {
            return Err(Refused::ClosedPull);
        }
        if self.reviews().iter().any(|one| one.id == review && one.state == "PENDING") {
            return Err(Refused::PendingReview);
        }
        let mut edits: Vec<Edit> = Vec::new();
        for comment in self.review_comments(review) {
            let Some(text) = suggestion_in(&comment.body) else { continue };
            if self.repository.github.world().outdated(&comment) {
                return Err(Refused::Outdated { path: comment.path });
            }
            if comment.side != "RIGHT" {
                return Err(Refused::NotOnTheRight { path: comment.path });
            }
            edits.push(Edit::new(&comment, text));
        }
        if edits.is_empty() {
            return Err(Refused::NoSuggestions);
        }
        edits.sort_by(|one, other| (&one.path, one.first).cmp(&(&other.path, other.first)));
        for pair in edits.windows(2) {
            if pair[0].path == pair[1].path && pair[1].first <= pair[0].last {
                return Err(Refused::Overlap { path: pair[1].path.clone(), line: pair[1].first });
            }
        }
        let files = apply(&self.repository.git(), pull.head_sha, &edits)?;
        let borrowed: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        self.push(by, &borrowed);
        Ok(files)
    }
}

struct Edit {
    path: String,
    first: u32,
    last: u32,
    text: String,
}

impl Edit {
    fn new(comment: &ReviewComment, text: String) -> Self {
        let first = comment.start_line.unwrap_or(comment.line);
        Self { path: comment.path.clone(), first, last: comment.line, text }
    }
}

fn apply(
    git: &git2::Repository,
    head: git2::Oid,
    edits: &[Edit],
) -> Result<Vec<(String, String)>, Refused> {
    let mut files: Vec<(String, String)> = Vec::new();
    for path in edits.iter().map(|edit| &edit.path) {
        if files.iter().any(|(done, _)| done == path) {
            continue;
        }
        let before = git::file(git, head, path).ok_or(Refused::Outdated { path: path.clone() })?;
        let before = String::from_utf8_lossy(&before).into_owned();
        if before.contains('\r') {
            return Err(Refused::CarriageReturns { path: path.clone() });
        }
        let mut lines: Vec<&str> = before.split_inclusive('\n').collect();
        // Bottom up, so that the numbers of the lines above stay true.
        for edit in edits.iter().filter(|edit| edit.path == *path).rev() {
            let (first, last) = (edit.first as usize - 1, edit.last as usize);
            if last > lines.len() {
                return Err(Refused::Outdated { path: path.clone() });
            }
            if lines[first..last].iter().any(|line| !line.ends_with('\n')) {
                return Err(Refused::NoNewlineAtEnd { path: path.clone() });
            }
            lines.splice(first..last, edit.text.split_inclusive('\n'));
        }
        files.push((path.clone(), lines.concat()));
    }
    Ok(files)
}

/// The first block with the info string `suggestion`, by CommonMark's rules for fences; every line
/// of it ends in a newline.
pub fn suggestion_in(body: &str) -> Option<String> {
    let mut found: Option<String> = None;
    for event in Parser::new(body) {
        match (event, &mut found) {
            (Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))), None)
                if info.split_whitespace().next() == Some("suggestion") =>
            {
                found = Some(String::new());
            }
            (Event::Text(text), Some(block)) => block.push_str(&text),
            (Event::End(TagEnd::CodeBlock), Some(_)) => break,
            _ => {}
        }
    }
    found
}
