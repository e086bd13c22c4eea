//! What is said to a language model, and what it is charged for.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Whose turn a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

impl Role {
    /// The word that model servers use for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub text: String,
}

/// What is said to a model: instructions that stay the same over many conversations (and may be
/// cached by the provider), then turns, the first and last of which are the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    pub system: String,
    pub messages: Vec<Message>,
}

impl Conversation {
    /// A first question.
    pub fn new(system: impl Into<String>, question: impl Into<String>) -> Self {
        let question = Message { role: Role::User, text: question.into() };
        Self { system: system.into(), messages: vec![question] }
    }

    /// Goes on: what the model answered, and what the user says to that.
    pub fn go_on(&mut self, answer: impl Into<String>, question: impl Into<String>) {
        self.messages.push(Message { role: Role::Assistant, text: answer.into() });
        self.messages.push(Message { role: Role::User, text: question.into() });
    }

    /// The identity of everything that was said so far.
    ///
    /// Lengths are hashed with the texts, so that text moved from one message to the next makes
    /// another conversation.
    pub fn id(&self) -> ConversationId {
        let mut hash = Sha256::new();
        let mut feed = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        feed(&self.system);
        for message in &self.messages {
            feed(message.role.as_str());
            feed(&message.text);
        }
        let digest = hash.finalize();
        let hex: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        ConversationId(hex.into())
    }

    /// Everything as one Markdown text, for readers that know no roles: programs that take a
    /// prompt on their standard input, and people. A first question needs no headings.
    pub fn to_markdown(&self) -> String {
        let mut sections = Vec::new();
        if !self.system.trim().is_empty() {
            sections.push(self.system.trim_end().to_owned());
        }
        let last = self.messages.len().saturating_sub(1);
        for (index, message) in self.messages.iter().enumerate() {
            let text = message.text.trim_end();
            let heading = match message.role {
                _ if last == 0 => "",
                Role::User if index == last => "# Now you are asked\n\n",
                Role::User => "# You were asked\n\n",
                Role::Assistant => "# You answered\n\n",
            };
            sections.push(format!("{heading}{text}"));
        }
        sections.join("\n\n---\n\n") + "\n"
    }
}

/// Identity of a conversation: the first 16 hexadecimal digits of the SHA-256 over its system text
/// and messages.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConversationId(Arc<str>);

impl ConversationId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tokens, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens of the prompt, those in `cached_input` included.
    pub input: u64,
    /// The part of `input` that the provider read from its cache, and charges less for.
    pub cached_input: u64,
    /// Tokens of the answer, those of hidden reasoning included.
    pub output: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_known_by_all_that_was_said() {
        let first = Conversation::new("Be brief.", "Make it faster.");
        assert_eq!(first.id(), Conversation::new("Be brief.", "Make it faster.").id());
        assert_eq!(first.id().as_str().len(), 16);
        let mut second = first.clone();
        second.go_on("Here.", "It does not compile.");
        let moved = Conversation::new("Be brief.Make", " it faster.");
        let mut roles = second.clone();
        roles.messages[1].role = Role::User;
        let ids = [first.id(), second.id(), moved.id(), roles.id()];
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    /// Recorded runs are found by this: it must never change.
    #[test]
    fn the_identity_is_the_same_in_every_version() {
        let mut conversation = Conversation::new("system", "question");
        conversation.go_on("answer", "next");
        assert_eq!(conversation.id().as_str(), "c2552c451fb374c0");
    }

    #[test]
    fn a_first_question_reads_without_headings_and_a_longer_talk_with_them() {
        let mut talk = Conversation::new("Be brief.\n", "Make it faster.\n");
        assert_eq!(talk.to_markdown(), "Be brief.\n\n---\n\nMake it faster.\n");
        talk.go_on("Here.", "It does not compile.");
        assert_eq!(
            talk.to_markdown(),
            "Be brief.\n\n---\n\n# You were asked\n\nMake it faster.\n\n---\n\n\
             # You answered\n\nHere.\n\n---\n\n# Now you are asked\n\nIt does not compile.\n"
        );
    }
}
