//! The GitHub App, as conversations: people act on a mock GitHub, the bot answers.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

mod bot;
mod configuration;
mod contract;
mod delivery;
mod hosts;
mod life;
#[path = "../mock/mod.rs"]
mod mock;
mod mock_itself;
#[path = "../postgres/mod.rs"]
mod postgres;
mod story;
mod trust;
mod weather;
