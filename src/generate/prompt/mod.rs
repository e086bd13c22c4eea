//! What is said to a model: one conversation a task, from templates, within a budget of tokens.
//!
//! The system text is the same for every kernel, so that providers can cache it. The user's message
//! has sections, each from its own template; where they exceed the budget, the least useful one is left
//! out whole ([`Section::DROPPED_FIRST`]), and the message says so. Sources, contracts and whatever
//! repositories and compilers say are data: they stand in fences that they cannot close, or on one line.

mod budget;
mod counters;
mod environment;
mod error;
mod excerpt;
mod filters;
mod guidance;
mod inputs;
mod lessons;
mod repair;
mod section;
mod view;

pub use budget::estimate_tokens;
pub use error::PromptError;
pub use guidance::about_kernels;
pub use inputs::{CaseStanding, Device, Guidance, Lesson, PromptInputs, Tried};
pub use lessons::lessons;
pub use repair::Failure;
pub use section::Section;

use std::path::Path;

use super::conversation::Conversation;

pub(in crate::generate) use environment::Templates;
pub(in crate::generate) use excerpt::shortened;
pub(in crate::generate) use filters::inline;

/// Makes conversations.
#[derive(Debug)]
pub struct Prompter {
    templates: Templates,
}

/// A conversation that fits its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub conversation: Conversation,
    /// In the order in which they were dropped.
    pub left_out: Vec<Section>,
    /// Estimated, of system text and message.
    pub tokens: usize,
}

impl Prompter {
    /// With the templates that come with the program.
    pub fn new() -> Result<Self, PromptError> {
        Ok(Self { templates: Templates::embedded()? })
    }

    /// With a user's templates in place of those of the same name.
    pub fn with_folder(folder: &Path) -> Result<Self, PromptError> {
        let mut templates = Templates::embedded()?;
        templates.add_folder(folder)?;
        Ok(Self { templates })
    }

    /// A conversation of at most `budget` estimated tokens.
    ///
    /// # Errors
    /// A template fails, or what must not be left out exceeds the budget.
    pub fn conversation(
        &self,
        inputs: &PromptInputs,
        budget: usize,
    ) -> Result<Prompt, PromptError> {
        let system = self.templates.render("system.md", view::system())?;
        let context = view::user(inputs);
        let mut sections = Vec::new();
        for section in Section::ALL {
            let text = self.templates.render(section.file(), context.clone())?;
            if !text.trim().is_empty() {
                sections.push((section, text.trim().to_owned()));
            }
        }
        let mut left_out = Vec::new();
        loop {
            let text = self.assemble(&sections, &left_out)?;
            let tokens = estimate_tokens(&system) + estimate_tokens(&text);
            if tokens <= budget {
                let conversation = Conversation::new(system, text);
                return Ok(Prompt { conversation, left_out, tokens });
            }
            let next = Section::DROPPED_FIRST
                .into_iter()
                .find(|section| sections.iter().any(|(present, _)| present == section));
            let Some(section) = next else {
                return Err(PromptError::TooLong { needed: tokens, budget });
            };
            sections.retain(|(present, _)| *present != section);
            left_out.push(section);
        }
    }

    fn assemble(
        &self,
        sections: &[(Section, String)],
        left_out: &[Section],
    ) -> Result<String, PromptError> {
        let titles: Vec<&str> = left_out.iter().map(|section| section.title()).collect();
        let note = self.templates.render("left_out.md", minijinja::context! { titles })?;
        let mut parts: Vec<&str> = sections.iter().map(|(_, text)| text.as_str()).collect();
        if !left_out.is_empty() {
            // Before the task, which has the last word.
            parts.insert(parts.len().saturating_sub(1), note.trim());
        }
        Ok(parts.join("\n\n") + "\n")
    }
}

#[cfg(test)]
mod tests;
