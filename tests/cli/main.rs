//! Conversations with the binary, as a person or a script has them.
//!
//! Every run here is held against what must hold of all ([`support::Running::end`]): no panic or
//! traceback, no process left behind, a sound database.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod support;

mod bench;
mod calibrate;
mod cheats;
mod configuration;
mod contracts;
mod examples;
mod hostile;
mod interruption;
mod memory;
mod models;
mod optimize;
mod places;
mod recipes;
mod sandbox;
mod sources;
