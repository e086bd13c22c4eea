//! The search as its users meet it, in a world made of numbers.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a test fails, also in its helpers"
)]

mod budgets;
mod diagnoses;
mod funnel;
mod order;
mod outcomes;
mod resuming;
mod rewrites;
mod run;
mod stopping;
mod world;
