//! Why there is no review.

use super::answer::LIMIT;
use crate::generate::{conversation::Usage, prompt::PromptError, provider::ProviderError};

/// Why there is no review.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("{source}")]
    Provider {
        source: ProviderError,
        /// Of the answers before.
        usage: Usage,
    },
    #[error("no answer of {who} can be read as a review: {unreadable}; choose another model")]
    Unreadable { who: String, unreadable: Unreadable, usage: Usage },
}

impl ReviewError {
    /// What was answered before it failed.
    pub fn usage(&self) -> Usage {
        match self {
            Self::Prompt(_) => Usage::default(),
            Self::Provider { usage, .. } | Self::Unreadable { usage, .. } => *usage,
        }
    }
}

/// Why an answer is no review, in words that can be sent back to the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is empty")]
    Empty,
    #[error("it has {bytes} bytes, and at most {LIMIT} are read")]
    TooLong { bytes: usize },
    /// By the provider's own word.
    #[error("the model or a filter around it declined to answer")]
    Declined,
    #[error("it has no line `label:` in its block")]
    NoLabel,
    #[error("its line `label: {said}` does not name one of the labels, and one only")]
    Undecided { said: String },
}
