//! The client against a GitHub that is told what to answer: who asks, what a refusal means, what is
//! repeated and what never is.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]
#![expect(unreachable_pub, reason = "modules of a test are shared by path")]

#[path = "../github/mod.rs"]
mod common;

mod answers;
mod contract;
mod fake;
mod limits;
mod pages;
mod redirects;
mod secrets;
mod tokens;
mod writes;
