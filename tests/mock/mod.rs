//! A GitHub to test against: repositories with real git history, people, pull requests, checks,
//! webhooks, and GitHub's rules, not only its shapes.
//!
//! The test plays the people (`github.repository("acme/kernels")`, `pull.comment("mona", …)`), the
//! bot speaks REST and git over HTTP to it, and the webhooks that follow from either go to
//! [`GitHub::deliver_to`]. It runs on threads of its own, so it serves tests with a runtime,
//! without one, and whole processes.
//!
//! ```ignore
//! let github = GitHub::start();
//! let kernels = github.repository("acme/kernels");
//! kernels.set_permission("mona", Permission::Write);
//! kernels.commit("main", &[("softmax.py", SLOW)]);
//! kernels.commit("faster", &[("softmax.py", LESS_SLOW)]);
//! let pull = kernels.open_pull("mona", "faster");
//! github.deliver_to(&format!("{service}/webhook"));
//! pull.label("optimize-kernel", "mona");
//! github.await_write("comments on acme/kernels#1").await;
//! assert_snapshot!(pull.conversation());
//! github.finish();
//! ```
#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "several test binaries use this module, each a part of it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

mod api;
mod auth;
mod changes;
mod conversation;
pub mod faults;
pub mod git;
mod knobs;
mod payload;
mod payload_talk;
mod people;
mod pull_request;
mod server;
pub mod state;
mod suggestions;
mod upload_pack;
mod webhook;
mod world;

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

#[allow(unused_imports, reason = "not every test binary needs all of them")]
pub use self::{
    faults::Fault,
    people::Repo,
    pull_request::PullRequest,
    state::Permission,
    suggestions::Refused,
    webhook::{Delivery, sign},
};

use world::World;

/// The App's key: made for these tests, worth nothing.
pub const APP_KEY: &str = include_str!("app.pem");
pub const APP_ID: u64 = 1234;

/// What the handle, the server and the courier share.
pub struct Inner {
    world: Mutex<World>,
    wake: Notify,
}

impl Inner {
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A running GitHub. Clones are the same one; it ends with the last.
#[derive(Clone)]
pub struct GitHub {
    inner: Arc<Inner>,
    _server: Arc<server::Running>,
}

impl std::fmt::Debug for GitHub {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "GitHub at {}", self.api())
    }
}

impl GitHub {
    /// At the root of its address, as github.com's API is.
    pub fn start() -> Self {
        Self::start_under("")
    }

    /// With the API below a prefix: `/api/v3` is GitHub Enterprise's.
    pub fn start_under(prefix: &str) -> Self {
        let (inner, server) = server::start(prefix);
        Self { inner, _server: Arc::new(server) }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.inner.world()
    }

    /// Base address of the REST API.
    pub fn api(&self) -> String {
        self.world().api.clone()
    }

    /// Base address of pages and of git: `{site}/acme/kernels.git`.
    pub fn site(&self) -> String {
        self.world().site.clone()
    }
}
