//! Floor 3: moves. Recipes need no model; rewrites come later from one.

mod favour;
mod proposer;
pub mod recipe;

pub use proposer::{Offspring, Proposer};
