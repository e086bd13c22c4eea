//! What the reader has to do to get the kernel.

use super::{Delivered, KernelResult, MARK, PullRequestFacts, fit::link, verdict::Ending};
use crate::report::{clean, escape::span};

/// Characters of patches that one comment shows, all kernels together.
pub(super) const PATCHES: usize = 40_000;

/// Whether a patch can be copied out of a comment unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchPlace {
    Comment,
    /// It has characters that a comment does not carry, or does not show.
    Hidden,
    TooLong,
}

impl PatchPlace {
    /// Takes what the patch needs out of `room`, in characters.
    pub(super) fn of(patch: &str, room: &mut usize) -> Self {
        let length = patch.chars().count() + 100;
        if patch.contains(MARK) || patch.split('\n').any(|line| clean::code(line) != line) {
            Self::Hidden
        } else if length > *room {
            Self::TooLong
        } else {
            *room -= length;
            Self::Comment
        }
    }
}

/// One sentence in Markdown; empty where there is nothing to do.
pub(super) fn of(
    facts: &PullRequestFacts,
    result: &KernelResult,
    delivered: &Delivered,
    place: Option<PatchPlace>,
) -> String {
    if Ending::of(result) != Ending::Faster {
        return String::new();
    }
    let elsewhere = || {
        let page = link("the run's page", facts.details.as_deref());
        format!("it is `best.patch` on {page}")
    };
    match delivered {
        Delivered::Suggestion { url } => format!(
            "**Apply {}**, all of its parts as one batch.",
            link("the suggestion", url.as_deref())
        ),
        Delivered::Branch { branch, pull: Some(pull), url } => format!(
            "**Merge {}** ({}) into this pull request's branch.",
            link(&format!("#{pull}"), url.as_deref()),
            span(branch)
        ),
        Delivered::Branch { branch, pull: None, url } => format!(
            "**Merge the branch {}** into this pull request's branch.",
            link(&span(branch), url.as_deref())
        ),
        Delivered::Commit { sha } => {
            format!("It is on this pull request's branch as {}.", span(sha.get(..8).unwrap_or(sha)))
        }
        Delivered::Patch(_) => match place {
            Some(PatchPlace::Comment) => "**Apply the patch below** with `git apply`.".to_owned(),
            Some(PatchPlace::Hidden) => format!(
                "**Apply the patch** with `git apply`: {}, because it has characters that a \
                 comment does not carry unchanged.",
                elsewhere()
            ),
            _ => format!(
                "**Apply the patch** with `git apply`: {}, because it is too long for a comment.",
                elsewhere()
            ),
        },
        Delivered::Nothing => {
            format!("It was not put into the pull request: {}.", elsewhere())
        }
    }
}
