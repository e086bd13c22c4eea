//! The GitHub App, as conversations: people act on a mock GitHub, the bot answers.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod bot;
#[path = "../mock/mod.rs"]
mod mock;
mod story;
