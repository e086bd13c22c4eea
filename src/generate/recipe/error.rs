//! Why a recipe gives no candidate.

use crate::kernel::syntax::{EditConflict, SyntaxError};

/// Why a recipe gives no candidate. Messages are read by people and by models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    #[error("the recipe is empty; write steps such as `tile BLOCK=512; warps 8`")]
    Empty,
    #[error("there is no verb `{name}`{}; the verbs are {}", did_you_mean(.suggestion), .known.join(", "))]
    UnknownVerb { name: String, suggestion: Option<String>, known: Vec<String> },
    /// The words after the verb are not what it takes.
    #[error("`{step}`: {reason}; write `{syntax}`")]
    Grammar { step: String, reason: String, syntax: String },
    /// The source has no place for the step, or the place does not take the value.
    #[error("`{step}` does not apply: {reason}{}", values_that_apply(.valid))]
    Inapplicable { step: String, reason: String, valid: Vec<String> },
    #[error("`{step}` changes nothing: the source already has it")]
    NoChange { step: String },
    #[error("`{step}` would change line {line}, which lies outside what may be edited ({})", .editable.join(", "))]
    NotEditable { step: String, line: u32, editable: Vec<String> },
    /// The source was not Python before the first step.
    #[error(transparent)]
    Source(#[from] SyntaxError),
    /// A verb's edits do not fit the source: a defect of the verb, kept from becoming a candidate.
    #[error("`{step}` gives no valid source: {reason}")]
    Broken { step: String, reason: String },
}

impl RecipeError {
    pub(super) fn broken_edits(step: &impl ToString, conflict: &EditConflict) -> Self {
        Self::Broken { step: step.to_string(), reason: conflict.to_string() }
    }

    pub(super) fn broken_source(step: &impl ToString, error: &SyntaxError) -> Self {
        Self::Broken { step: step.to_string(), reason: error.to_string() }
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|verb| format!(", did you mean `{verb}`?")).unwrap_or_default()
}

fn values_that_apply(valid: &[String]) -> String {
    if valid.is_empty() { String::new() } else { format!("; what applies: {}", valid.join(", ")) }
}
