//! The service and its runners, killed with -9 again and again while pull requests go through, over a
//! GitHub that loses, doubles and reorders deliveries, refuses requests, fails after it has written, and
//! forgets tokens. Afterwards everything must stand as if nothing had happened.
//!
//! `CHAOS_SEED` and `CHAOS_KILLS` make other and longer soaks; `CHAOS_KEEP` keeps the folder with the
//! processes' logs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

#[allow(dead_code, reason = "the configuration and the kernel; the bot here is a process")]
#[path = "../app/bot.rs"]
mod bot;
mod crash;
mod figures;
mod flaky_store;
#[path = "../mock/mod.rs"]
mod mock;
mod patience;
#[path = "../postgres/mod.rs"]
mod postgres;
mod process;
mod script;
mod siege;
mod stories;
mod verdict;

use std::{io::Write, sync::Arc};

use kernelbrain::store::{PostgresStore, SqliteStore, service::ServiceStore};

use crate::{mock::GitHub, process::Fleet, siege::Siege, stories::Story};

/// Two sieges at once would only fight for the processor.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_with_its_runner_inside_is_killed_and_nothing_is_lost_or_doubled() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let github = GitHub::start();
    let fleet = Fleet::with_runner_inside(&github);
    let database = fleet.folder().join("kernelbrain-server.db");
    let store: Arc<dyn ServiceStore> = Arc::new(SqliteStore::open(&database).await.unwrap());
    besiege("sqlite", github, fleet, store, 50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_and_two_runners_apart_are_killed_and_nothing_is_lost_or_doubled() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let github = GitHub::start();
    let database = postgres::fresh_database().await;
    let fleet = Fleet::with_runners_apart(&github, &database.url);
    let store: Arc<dyn ServiceStore> =
        Arc::new(PostgresStore::connect(&database.url).await.unwrap());
    besiege("postgres", github, fleet, store, 30).await;
}

async fn besiege(
    name: &str,
    github: GitHub,
    mut fleet: Fleet,
    store: Arc<dyn ServiceStore>,
    kills: u64,
) {
    let (seed, kills) = (number("CHAOS_SEED", 5), number("CHAOS_KILLS", kills));
    let stories = Story::twenty(&github);
    let mut siege = Siege::new(&github, Arc::clone(&store), stories, seed);
    siege.unleash();
    siege.go_on(&mut fleet, kills as usize).await;
    siege.calm(&fleet).await;
    fleet.end().await;
    verdict::pronounce(&github, &*store, &siege.stories).await;
    // Past the capture of a test's output: this is what one looks for.
    let line = format!("{}\n", figures::of(&siege, &github, name));
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}
