//! What applies to a source, for `kernelbrain recipes` and for prompts.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Context, VERBS, applicable_places};
use crate::kernel::syntax::Source;

/// A verb and where it applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerbListing {
    pub verb: &'static str,
    pub summary: &'static str,
    pub syntax: &'static str,
    /// Empty where the verb does not apply to this source.
    pub places: Vec<PlaceListing>,
}

/// A place and the steps that apply there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceListing {
    /// From 1.
    pub line: u32,
    pub what: String,
    pub current: Option<String>,
    /// As they are written in a recipe.
    pub steps: Vec<String>,
}

/// All verbs, in their order, with the places of `source` where they apply.
pub fn listing(source: &Source, context: &Context) -> Vec<VerbListing> {
    let list = |verb: &&'static dyn super::Verb| {
        let places = applicable_places(*verb, source, context)
            .into_iter()
            .map(|place| PlaceListing {
                line: place.line,
                what: place.what,
                current: place.current,
                steps: place.steps.iter().map(ToString::to_string).collect(),
            })
            .collect();
        VerbListing { verb: verb.name(), summary: verb.summary(), syntax: verb.syntax(), places }
    };
    VERBS.iter().map(list).collect()
}

/// The listing as text: verbs that apply with their places, then the names of the others.
pub fn render_listing(verbs: &[VerbListing]) -> String {
    let mut text = String::new();
    for verb in verbs.iter().filter(|verb| !verb.places.is_empty()) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}  ({})", verb.syntax, verb.summary);
        for place in &verb.places {
            let current = place.current.as_ref().map(|now| format!(", now {now}"));
            let _ = writeln!(
                text,
                "  line {}: {}{}",
                place.line,
                place.what,
                current.unwrap_or_default()
            );
            let _ = writeln!(text, "    {}", place.steps.join(" | "));
        }
    }
    let idle = verbs.iter().filter(|verb| verb.places.is_empty()).map(|verb| verb.verb);
    let idle: Vec<&str> = idle.collect();
    if !idle.is_empty() {
        let _ = writeln!(text, "without a place here: {}", idle.join(", "));
    }
    text
}

/// Places of a verb that [`render_examples`] tells of.
const EXAMPLES: usize = 12;

/// The listing for whoever knows the verbs: one step of each place, a line a verb, where it stands and what
/// stands there now.
pub fn render_examples(verbs: &[VerbListing]) -> String {
    let mut text = String::new();
    for verb in verbs.iter().filter(|verb| !verb.places.is_empty()) {
        let example = |place: &PlaceListing| {
            let current = place.current.as_ref().map(|now| format!(", now {now}"));
            let step = place.steps.first()?;
            Some(format!("{step} (line {}{})", place.line, current.unwrap_or_default()))
        };
        let examples: Vec<String> = verb.places.iter().take(EXAMPLES).filter_map(example).collect();
        let more = verb.places.len().saturating_sub(EXAMPLES);
        let more = if more > 0 { format!(" | {more} more") } else { String::new() };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}{more}", examples.join(" | "));
    }
    text
}
