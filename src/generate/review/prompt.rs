//! What is said to a reviewer: one conversation a winner, from templates, within a budget of tokens.

use std::path::Path;

use minijinja::{Value, context};

use super::{ReviewInputs, ReviewSection, Unreadable, answer::REASONS, view};
use crate::{
    generate::{
        conversation::Conversation,
        prompt::{PromptError, Templates, estimate_tokens, shortened},
    },
    kernel::ReviewLabel,
};

/// Makes the conversations of reviews.
#[derive(Debug)]
pub struct ReviewPrompter {
    templates: Templates,
}

/// A question that fits its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewPrompt {
    pub conversation: Conversation,
    /// What the answer's block has to begin with: eight hexadecimal digits that depend on all
    /// sections, so that no source among them can contain it.
    pub code: String,
    /// In the order in which they were dropped.
    pub left_out: Vec<ReviewSection>,
    /// Estimated, of system text and message.
    pub tokens: usize,
}

/// A code that nothing in `conversation` contains but by a chance of one in four thousand million.
fn code_of(conversation: &Conversation) -> String {
    conversation.id().as_str().chars().take(8).collect()
}

/// Bytes of an answer that are repeated to the model that gave it.
const REPEATED: usize = 4 << 10;

impl ReviewPrompter {
    /// With the templates that come with the program.
    pub fn new() -> Result<Self, PromptError> {
        Ok(Self { templates: Templates::embedded()? })
    }

    /// With a user's templates in place of those of the same name: the folder may be the one that
    /// holds the templates of rewrites.
    pub fn with_folder(folder: &Path) -> Result<Self, PromptError> {
        let mut templates = Templates::embedded()?;
        templates.add_folder(folder)?;
        Ok(Self { templates })
    }

    /// A question of at most `budget` estimated tokens.
    ///
    /// # Errors
    /// A template fails, or what must not be left out exceeds the budget.
    pub fn conversation(
        &self,
        inputs: &ReviewInputs,
        budget: usize,
    ) -> Result<ReviewPrompt, PromptError> {
        let system = self.render("review_system.md", view::system())?;
        let context = view::user(inputs);
        let mut sections = Vec::new();
        for section in ReviewSection::ALL {
            let text = self.render(section.file(), context.clone())?;
            if !text.is_empty() {
                sections.push((section, text));
            }
        }
        let texts = |sections: &[(ReviewSection, String)]| {
            let texts: Vec<&str> = sections.iter().map(|(_, text)| text.as_str()).collect();
            texts.join("\n\n")
        };
        let code = code_of(&Conversation::new("", texts(&sections)));
        let mut left_out = Vec::new();
        loop {
            let text = format!("{}\n\n{}\n", texts(&sections), self.question(&code, &left_out)?);
            let tokens = estimate_tokens(&system) + estimate_tokens(&text);
            if tokens <= budget {
                let conversation = Conversation::new(system, text);
                return Ok(ReviewPrompt { conversation, code, left_out, tokens });
            }
            let next = ReviewSection::DROPPED_FIRST
                .into_iter()
                .find(|section| sections.iter().any(|(present, _)| present == section));
            let Some(section) = next else {
                return Err(PromptError::TooLong { needed: tokens, budget });
            };
            sections.retain(|(present, _)| *present != section);
            left_out.push(section);
        }
    }

    /// `conversation` with an answer that cannot be read and what is wrong with it; and the code of
    /// the next answer. It is another one, since the answer may repeat a source.
    pub(super) fn again(
        &self,
        conversation: &Conversation,
        answer: &str,
        unreadable: &Unreadable,
    ) -> Result<(Conversation, String), PromptError> {
        let names: Vec<&str> = ReviewLabel::ALL.iter().map(|label| label.as_str()).collect();
        let reason = unreadable.to_string();
        // Providers refuse an empty turn.
        let said = match answer.trim() {
            "" => "(an empty answer)".to_owned(),
            said => shortened(said, REPEATED / 2, REPEATED / 2),
        };
        let mut conversation = conversation.clone();
        conversation.go_on(said, "");
        let code = code_of(&conversation);
        let context = context! { reason, names, code => &code, reasons => REASONS };
        if let Some(question) = conversation.messages.last_mut() {
            question.text = self.render("review_again.md", context)? + "\n";
        }
        Ok((conversation, code))
    }

    fn question(&self, code: &str, left_out: &[ReviewSection]) -> Result<String, PromptError> {
        let left_out: Vec<&str> = left_out.iter().map(|section| section.title()).collect();
        self.render("review_question.md", context! { left_out, code, reasons => REASONS })
    }

    fn render(&self, template: &str, context: Value) -> Result<String, PromptError> {
        Ok(self.templates.render(template, context)?.trim().to_owned())
    }
}
