//! Why a verified file cannot be offered as suggestions, in words for people.

use std::{fmt::Write, ops::RangeInclusive};

use super::AT_MOST;

/// Why no suggestion is offered. The text completes "The change cannot be a suggestion: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuggestion {
    #[error("the verified file is the file of the pull request")]
    NothingToChange,
    #[error("GitHub shows no diff of this file, because it or the pull request is too large")]
    NoDiff,
    #[error(
        "line {line} of the diff is not what the file has there; the pull request may have moved on"
    )]
    OtherCommit { line: u32 },
    #[error("it needs lines that the pull request's diff does not show ({})", ranges(lines))]
    OutsideTheDiff { lines: Vec<RangeInclusive<u32>> },
    #[error(
        "it needs lines of more than one hunk of the pull request's diff at once ({})",
        ranges(lines)
    )]
    AcrossHunks { lines: Vec<RangeInclusive<u32>> },
    #[error("the file has carriage returns, which GitHub does not keep as they are")]
    CarriageReturns,
    #[error(
        "a newline at the end of the file cannot be added, removed or left out by a suggestion"
    )]
    NewlineAtEnd,
    #[error("it changes text with the character U+{:04X}, which a comment may not carry unchanged", u32::from(*.0))]
    HiddenCharacter(char),
    #[error("an empty line with no other line of the diff beside it looks like a deletion")]
    OnlyEmptyLines,
    #[error("it would take {needed} suggestions, and more than {AT_MOST} are too many to read")]
    TooMany { needed: usize },
    #[error("a suggestion of this length does not fit into a comment")]
    TooLong,
    #[error("the suggestions, applied, would not give the verified file")]
    NotTheVerifiedFile,
}

/// `line 7`, `lines 3 to 9 and 12`, the first few.
fn ranges(lines: &[RangeInclusive<u32>]) -> String {
    const SHOWN: usize = 5;
    let single = matches!(lines, [only] if only.start() == only.end());
    let mut text = String::from(if single { "line " } else { "lines " });
    for (at, range) in lines.iter().take(SHOWN).enumerate() {
        let last = at + 1 == lines.len();
        text.push_str(match at {
            0 => "",
            _ if last => " and ",
            _ => ", ",
        });
        let _ = match range.start() == range.end() {
            true => write!(text, "{}", range.start()),
            false => write!(text, "{} to {}", range.start(), range.end()),
        };
    }
    if lines.len() > SHOWN {
        let _ = write!(text, " and {} more places", lines.len() - SHOWN);
    }
    text
}
