//! kernelbrain makes a Triton kernel faster within a budget and proves that it did.
//!
//! The crate is a house of floors; a module imports only from floors below its own
//! (see `docs/design.md`):
//!
//! | floor | modules |
//! | --- | --- |
//! | 6 | [`cli`] |
//! | 5 | [`service`] |
//! | 4 | [`engine`] |
//! | 3 | [`search`], [`generate`], [`evaluate`], [`store`], [`report`], [`github`] |
//! | 2 | [`kernel`], [`gpu`], [`repo`] |

pub mod cli;
pub mod engine;
pub mod evaluate;
pub mod generate;
pub mod github;
pub mod gpu;
pub mod kernel;
pub mod repo;
pub mod report;
pub mod search;
pub mod service;
pub mod store;
