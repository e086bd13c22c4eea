//! The recipe language: a short list of source edits, no model needed.
//!
//! `tile BLOCK=512; warps 8; evict first x_ptr` is three steps. Each verb is one file under
//! `verbs/`: it finds the places in the syntax tree where it applies, gives the values worth
//! trying there, and edits by byte span. Steps are applied one after the other, each on the
//! freshly parsed result of the one before, so a recipe is a path and not a set of edits.

mod access;
mod addresses;
mod context;
mod error;
mod flow;
mod idle;
mod language;
mod listing;
mod tiling;
mod verb;
pub mod verbs;

pub use context::{Argument, CaseFacts, Context, DeviceKind, element_bytes};
pub use error::RecipeError;
pub use idle::Idle;
pub use language::{Recipe, Step, Word};
pub use listing::{PlaceListing, VerbListing, listing, render_examples, render_listing};
pub use verb::{Place, Verb, applicable_places, apply_step};
pub use verbs::VERBS;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;
