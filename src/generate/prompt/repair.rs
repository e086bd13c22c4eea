//! A rejection as the next turn of its conversation.

use minijinja::context;

use super::{PromptError, Prompter, excerpt};
use crate::generate::answer::AnswerError;
use crate::generate::conversation::Conversation;
use crate::kernel::Rejection;

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug)]
pub enum Failure<'a> {
    /// No candidate could be read from it: edits go on applying to the source they applied to.
    Answer(&'a AnswerError),
    /// A gate rejected the candidate with this source, to which edits apply from now on.
    Gate { rejection: &'a Rejection, source: &'a str },
}

/// Bytes of an answer that are repeated to the model that gave it.
const ANSWER: usize = 48 << 10;

impl Prompter {
    /// `conversation` with the model's `answer` and what is wrong with it.
    pub fn repair(
        &self,
        conversation: &Conversation,
        answer: &str,
        failure: Failure<'_>,
    ) -> Result<Conversation, PromptError> {
        let text = self.repair_message(failure)?;
        // Providers refuse an empty turn.
        let said = match answer.trim() {
            "" => "(an empty answer)".to_owned(),
            said => excerpt::shortened(said, ANSWER / 2, ANSWER / 2),
        };
        let mut conversation = conversation.clone();
        conversation.go_on(said, text);
        Ok(conversation)
    }

    /// What is said about a failure: the gate, the reason, the lines that it concerns.
    pub fn repair_message(&self, failure: Failure<'_>) -> Result<String, PromptError> {
        let context = match failure {
            Failure::Answer(error) => context! {
                gate => (),
                reason => excerpt::ends(&error.to_string()),
                case => (),
                line => (),
                lines => (),
            },
            Failure::Gate { rejection, source } => context! {
                gate => rejection.gate.to_string(),
                reason => excerpt::ends(&rejection.reason),
                case => rejection.case.as_deref(),
                line => rejection.line,
                lines => rejection.line.and_then(|line| excerpt::around(source, line)),
            },
        };
        Ok(self.templates.render("repair.md", context)?.trim().to_owned() + "\n")
    }
}
