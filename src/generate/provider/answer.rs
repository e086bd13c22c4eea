//! What comes back for a conversation.

use serde::{Deserialize, Serialize};

use super::excerpt::excerpt;
use crate::generate::conversation::Usage;

/// What a provider has for a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Answer(Answer),
    /// Somebody outside answers later: asking the same conversation again picks it up.
    Awaited,
}

/// An answer to a conversation. Nothing is known of its text but that it is UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub text: String,
    pub usage: Usage,
    /// Whose numbers `usage` has.
    pub counted: Counted,
    pub stop: Stop,
}

/// Who counted the tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    ByProvider,
    /// [`estimate_tokens`](super::price::estimate_tokens) did, because the provider does not count
    /// or its numbers cannot be true.
    Estimated,
}

/// Why an answer ends where it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had said what it wanted to say, or nothing is known to the contrary.
    Finished,
    /// It was cut at the limit of output tokens or of the model's window. There may be no text.
    OutputLimit,
    /// The model, or a filter around it, declined. There may be no text.
    Refusal,
    /// A reason that only the provider understands, in its words.
    Other(String),
}

impl Stop {
    pub(super) fn other(reason: &str) -> Self {
        Self::Other(excerpt(reason))
    }

    /// Whether an answer that ended so should have a text.
    pub(super) fn promises_text(&self) -> bool {
        matches!(self, Self::Finished | Self::Other(_))
    }
}
