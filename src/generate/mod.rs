//! Floor 3: moves. Recipes need no model; rewrites come from one, which is given an expert task.

pub mod answer;
pub mod conversation;
mod favour;
mod files;
pub mod prompt;
mod proposer;
pub mod provider;
pub mod recipe;
pub mod review;
pub mod task;

pub use proposer::{Offspring, Proposer};
