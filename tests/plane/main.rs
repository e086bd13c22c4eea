//! An evaluation plane with its real processes, without a search around it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod light;
mod profile;
mod racing;
