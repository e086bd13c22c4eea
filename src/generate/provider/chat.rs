//! What the HTTP providers have in common: from a server's message to an answer.

use super::{
    Answer, Counted, Limits, Provider, ProviderError, Reply, Stop, error::Fault, usage::Reported,
};
use crate::generate::conversation::{Conversation, Message, Role, Usage};

/// A fault, and what was charged nevertheless.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) fault: Fault,
    pub(super) usage: Option<Usage>,
}

impl Failure {
    /// As the error of `provider`.
    pub(super) fn of(self, provider: &dyn Provider) -> ProviderError {
        let usage = self.usage;
        ProviderError { usage, ..self.fault.of(provider) }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, usage: None }
    }
}

/// The answer in a message that has been read: one that should have a text and has none is a fault.
pub(super) fn answer(
    provider: &dyn Provider,
    conversation: &Conversation,
    text: String,
    stop: Stop,
    reported: Reported,
    limits: &Limits,
) -> Result<Reply, Failure> {
    let (usage, counted) = reported.settle(conversation, &text, limits);
    if counted == Counted::Estimated {
        let (provider, model) = (provider.name(), provider.model());
        tracing::warn!(
            provider,
            model,
            ?reported,
            "token counts are missing or cannot be true; they are estimated"
        );
    }
    if text.trim().is_empty() && stop.promises_text() {
        let fault = Fault::Empty { from: "the answer".into() };
        return Err(Failure { fault, usage: (counted == Counted::ByProvider).then_some(usage) });
    }
    Ok(Reply::Answer(Answer { text, usage, counted, stop }))
}

/// Refuses what no server would take, before it is paid for.
pub(super) fn check(conversation: &Conversation) -> Result<(), Fault> {
    let users = |turn: Option<&Message>| turn.is_some_and(|turn| turn.role == Role::User);
    let messages = &conversation.messages;
    if users(messages.first()) && users(messages.last()) { Ok(()) } else { Err(Fault::Unaskable) }
}
