//! Floor 3: moves. Recipes need no model; rewrites come from one.

pub mod conversation;
mod favour;
mod proposer;
pub mod provider;
pub mod recipe;

pub use proposer::{Offspring, Proposer};
