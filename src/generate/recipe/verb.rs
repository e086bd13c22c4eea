//! What a verb is.

use std::ops::Range;

use super::{Context, RecipeError, Step, language::verb_named};
use crate::kernel::syntax::{Edit, Source, children};

/// Somewhere in a source where a verb applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line of what would be edited, from 1.
    pub line: u32,
    /// What is edited there, for people: `BLOCK_K of _matvec_kernel, set in kernel_function`.
    pub what: String,
    /// Names the place among the verb's places, and the same place after an edit elsewhere:
    /// `BLOCK_K`, `x_ptr`.
    pub axis: String,
    /// The value there now, as it would be written in a step.
    pub current: Option<String>,
    /// Steps worth trying here, the most promising first; none of them is a no-op.
    pub steps: Vec<Step>,
}

/// One kind of source edit. Stateless; one file each.
pub trait Verb: Sync {
    /// The first word of its steps.
    fn name(&self) -> &'static str;

    /// One line for `kernelbrain recipes`.
    fn summary(&self) -> &'static str;

    /// How a step is written, for example `tile NAME=VALUE`.
    fn syntax(&self) -> &'static str;

    /// Whether Triton's interpreter runs something else after the edit. What only the compiler
    /// sees (warps, eviction) leaves the interpreter's work as it was.
    fn interpreted(&self) -> bool {
        true
    }

    /// Where it applies and what is worth trying there; empty where it does not apply.
    fn places(&self, source: &Source, context: &Context) -> Vec<Place>;

    /// The edits of `step`, whose verb is this one. Values beyond those that
    /// [`Verb::places`] proposes are welcome as long as the kernel stays right.
    fn apply(
        &self,
        source: &Source,
        step: &Step,
        context: &Context,
    ) -> Result<Vec<Edit>, RecipeError>;
}

impl std::fmt::Debug for dyn Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Verb({})", self.name())
    }
}

/// The source after `step`: it parses, differs, and differs only in what may be edited.
pub fn apply_step(source: &Source, step: &Step, context: &Context) -> Result<Source, RecipeError> {
    let edits = verb_named(&step.verb)?.apply(source, step, context)?;
    if let Some(edit) = edits.iter().find(|edit| !may_edit(source, &edit.span, context)) {
        let before = source.text().get(..edit.span.start).unwrap_or_default();
        let line = u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX);
        let editable = context.editable.clone().unwrap_or_default();
        return Err(RecipeError::NotEditable { step: step.to_string(), line, editable });
    }
    let text =
        source.edited(&edits).map_err(|conflict| RecipeError::broken_edits(step, &conflict))?;
    if text == source.text() {
        return Err(RecipeError::NoChange { step: step.to_string() });
    }
    Source::parse(text).map_err(|error| RecipeError::broken_source(step, &error))
}

/// The places of `verb` whose steps were tried and do apply; places without any are left out.
pub fn applicable_places(verb: &dyn Verb, source: &Source, context: &Context) -> Vec<Place> {
    let mut places = verb.places(source, context);
    for place in &mut places {
        place.steps.retain(|step| apply_step(source, step, context).is_ok());
    }
    places.retain(|place| !place.steps.is_empty());
    places
}

/// Whether `span` lies within a top-level symbol that may change. Text inserted right before or
/// after such a symbol counts as part of it.
fn may_edit(source: &Source, span: &Range<usize>, context: &Context) -> bool {
    let Some(editable) = &context.editable else { return true };
    children(source.root()).any(|node| {
        let inside = node.start_byte() <= span.start && span.end <= node.end_byte();
        inside && source.symbols_of(node).iter().any(|name| editable.iter().any(|e| e == name))
    })
}
