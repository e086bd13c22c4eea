//! Floor 5: the GitHub App. Webhook → decide → effects; jobs and the runners that work them off.
//!
//! ```text
//! GitHub ─webhook─► server: verify, keep, 202
//!                      │ deliveries
//!                      ▼
//! intake: event ─► facts, read from GitHub just now ─► decide (pure) ─► one change, all or none
//!                                                        │ jobs, effects
//!                          ┌─────────────────────────────┴─────┐
//!                          ▼                                   ▼
//! runner: lease ─► exactly the approved commit       dispatch: one lane of writes an installation,
//!   ─► `kernelbrain optimize` without secrets          looks for its own marker before it creates;
//!   ─► results ─► decide                               an effect that is done ─► decide
//! ```
//!
//! Nothing is remembered outside of the database: every part can be killed at any moment.

pub mod clock;
pub mod command;
pub mod config;
pub mod decide;
pub mod dispatch;
pub mod effect;
pub mod event;
mod facts;
pub mod intake;
pub mod key;
pub mod open;
pub mod order;
pub mod runner;
pub mod server;
pub mod targets;
pub mod upkeep;
mod words;
