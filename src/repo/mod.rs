//! Floor 2: git repositories. Exactly one commit out of a cached mirror, and nothing of it is run.
//!
//! A [`Mirror`] is a bare repository in a cache folder, one a GitHub repository. It is filled by
//! SHA, one commit deep, over [`fetch`](Mirror::fetch), and read from without a work tree. A work
//! tree is made by [`check_out`](Mirror::check_out), which treats the tree as written by an enemy.
//!
//! Everything blocks; call it from a thread that may. Nothing here starts another program: no
//! hook, filter, credential helper or configuration of the user's is looked at.

mod checkout;
mod error;
mod fetch;
mod links;
mod mirror;
mod names;
mod sha;
mod wire;

pub use checkout::{CheckedOut, CheckoutLimits, LeftOut, WhyLeftOut};
pub use error::RepoError;
pub use fetch::{FetchLimits, Remote};
pub use mirror::Mirror;
pub use sha::Sha;
