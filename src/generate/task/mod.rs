//! Expert tasks: what an expert would tell a colleague to try, and when.
//!
//! Each is one small TOML file under `tasks/`, embedded; a maintainer adds files of the same form
//! in a folder. [`selection`] chooses which to give to a model next.

mod axis;
mod condition;
mod error;
mod experience;
mod expert_task;
mod facts;
mod fingerprint;
mod library;
pub mod selection;

pub use axis::Axis;
pub use condition::{Condition, Situation};
pub use error::TaskError;
pub(crate) use experience::ENOUGH_TRIES;
pub use experience::{Experience, Known, Standing, Subject, Tally};
pub use expert_task::ExpertTask;
pub use facts::{Fact, Facts};
pub use fingerprint::fingerprint;
pub use library::Library;
pub use selection::{Attempt, Chosen, Selector};

#[cfg(test)]
mod tests;
