//! What holds of the repository itself: its floors, its documentation, and what it shows to models.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod docs;
mod expert_tasks;
mod floors;
