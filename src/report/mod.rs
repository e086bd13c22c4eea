//! Floor 3: one [`Report`], one file a format.
//!
//! Everything a report shows may have been written by a candidate, a contract or a model.
//! [`clean`] takes out what acts on a terminal or reorders text, once for all formats; the
//! formats escape what is special to them.

pub mod bench;
mod charts;
mod clean;
mod diff;
mod escape;
mod files;
mod format;
mod highlight;
pub mod html;
pub mod json;
mod known;
mod light;
pub mod markdown;
mod model;
pub mod patch;
pub mod profile;
pub mod pull_request;
mod ranking;
mod reviews;
mod story;
pub mod terminal;

pub use clean::text as cleaned;
pub use escape::escaped;
pub use files::{BEST, HTML, JSON, MARKDOWN, PATCH, WriteError, write};
pub use model::*;

#[cfg(test)]
mod tests;
