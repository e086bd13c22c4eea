//! What the stores promise: each of a run's and of a service's, and what is particular to one database.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

mod conformance;
mod copied_runs;
mod experience;
#[path = "../postgres/mod.rs"]
mod postgres;
mod samples;
mod service;
mod sqlite;
