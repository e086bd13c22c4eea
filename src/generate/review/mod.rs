//! The review of a winner: a second language model reads contract, reference, sources and
//! measurements, and says whether the speed is honest.
//!
//! A review is an opinion. It may withhold a result and never makes one: what cannot be asked,
//! answered or read is no review ([`ReviewError`]), whatever the answer seems to say.
//!
//! What the reviewer reads was written by the candidate that it judges. Sources stand in fences
//! that they cannot close, the instructions name text that speaks to reviewers as a sign of gaming,
//! and the answer carries a code that no source can know ([`answer`]).

mod answer;
mod error;
mod inputs;
mod label;
mod prompt;
mod section;
mod view;

pub use error::{ReviewError, Unreadable};
pub use inputs::{MeasuredCase, ReviewInputs};
pub use prompt::{ReviewPrompt, ReviewPrompter};
pub use section::ReviewSection;

use super::{
    conversation::{ConversationId, Usage},
    provider::{Provider, Reply},
};
use crate::kernel::Review;
use answer::{Asked, Opinion};

/// What came of asking.
#[derive(Clone, Debug, PartialEq)]
pub enum Reviewed {
    Done(Review),
    /// Somebody outside answers later to this conversation.
    Awaited(ConversationId),
}

/// How often a reviewer whose answer cannot be read is asked again.
const RETRIES: usize = 2;

/// Asks `provider` for a review, with a first question of at most `budget` estimated tokens.
///
/// # Errors
/// There is no question, no answer, or none that can be read.
pub async fn review(
    provider: &dyn Provider,
    prompter: &ReviewPrompter,
    inputs: &ReviewInputs,
    budget: usize,
) -> Result<Reviewed, ReviewError> {
    let ReviewPrompt { mut conversation, mut code, .. } = prompter.conversation(inputs, budget)?;
    let mut usage = Usage::default();
    let mut retries = RETRIES;
    loop {
        let answer = match provider.ask(&conversation).await {
            Ok(Reply::Answer(answer)) => answer,
            Ok(Reply::Awaited) => return Ok(Reviewed::Awaited(conversation.id())),
            Err(source) => return Err(ReviewError::Provider { source, usage }),
        };
        usage = sum(usage, answer.usage);
        let unreadable =
            match answer::read(&answer.text, &answer.stop, &Asked::of(&conversation, &code)) {
                Ok(opinion) => return Ok(Reviewed::Done(signed(opinion, provider, usage))),
                Err(unreadable) => unreadable,
            };
        if retries == 0 || unreadable == Unreadable::Declined {
            return Err(ReviewError::Unreadable { who: who(provider), unreadable, usage });
        }
        retries -= 1;
        (conversation, code) = prompter.again(&conversation, &answer.text, &unreadable)?;
    }
}

fn signed(opinion: Opinion, provider: &dyn Provider, usage: Usage) -> Review {
    let Opinion { label, kind, reasons } = opinion;
    let (input_tokens, output_tokens) = (usage.input, usage.output);
    Review { label, kind, reasons, model: who(provider), input_tokens, output_tokens, usd: 0.0 }
}

fn who(provider: &dyn Provider) -> String {
    format!("{}:{}", provider.name(), provider.model())
}

fn sum(a: Usage, b: Usage) -> Usage {
    Usage {
        input: a.input.saturating_add(b.input),
        cached_input: a.cached_input.saturating_add(b.cached_input),
        output: a.output.saturating_add(b.output),
    }
}

#[cfg(test)]
mod tests;
