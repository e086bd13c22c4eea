//! The door of the service: what it lets in, what it turns away, and that nothing which came in is lost
//! or gets stuck. Every word goes over HTTP to the service as `kernelbrain serve` runs it, beside a mock
//! GitHub.

#![expect(clippy::unwrap_used, clippy::panic, reason = "that is how a test fails")]

#[path = "webhook/door.rs"]
mod door;
mod mock;
#[path = "webhook/mutation.rs"]
mod mutation;
#[path = "webhook/nonsense.rs"]
mod nonsense;
#[path = "webhook/payloads.rs"]
mod payloads;
#[path = "webhook/service.rs"]
mod service;
#[path = "webhook/strange.rs"]
mod strange;
#[path = "webhook/trouble.rs"]
mod trouble;
