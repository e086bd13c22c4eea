//! What every store of a service promises, told once and asked of each implementation.

mod deliveries;
mod effects;
mod jobs;
mod journal;
mod leases;
mod postgres_only;
mod runners;
mod sqlite_only;
mod stories;

use std::{path::PathBuf, sync::Arc};

use kernelbrain::store::{
    PostgresStore, SqliteStore, service::ServiceStore, sqlite::SqliteOptions,
};

use crate::postgres::{Database, fresh_database};

/// Where each promise gets a database of its own, as several processes would open it.
trait Databases {
    type Store: ServiceStore + 'static;
    async fn fresh(&mut self, processes: usize) -> Vec<Arc<Self::Store>>;

    async fn one(&mut self) -> Arc<Self::Store> {
        self.fresh(1).await.remove(0)
    }
}

struct Files {
    folder: tempfile::TempDir,
    count: u32,
}

impl Databases for Files {
    type Store = SqliteStore;

    async fn fresh(&mut self, processes: usize) -> Vec<Arc<SqliteStore>> {
        self.count += 1;
        let path: PathBuf = self.folder.path().join(format!("{}.db", self.count));
        let mut stores = Vec::new();
        for _ in 0..processes {
            let store = SqliteStore::open_with(&path, SqliteOptions::service()).await;
            stores.push(Arc::new(store.unwrap()));
        }
        stores
    }
}

/// Those that are in use.
struct Servers(Vec<Database>);

impl Databases for Servers {
    type Store = PostgresStore;

    async fn fresh(&mut self, processes: usize) -> Vec<Arc<PostgresStore>> {
        let database = fresh_database().await;
        let mut stores = Vec::new();
        for _ in 0..processes {
            stores.push(Arc::new(PostgresStore::connect(&database.url).await.unwrap()));
        }
        self.0.push(database);
        stores
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_every_promise() {
    every_promise(Files { folder: tempfile::tempdir().unwrap(), count: 0 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_every_promise() {
    every_promise(Servers(Vec::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_runners_on_sqlite_do_80_jobs_once_each() {
    let mut files = Files { folder: tempfile::tempdir().unwrap(), count: 0 };
    runners::do_every_job_once(files.fresh(8).await, 80).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_runners_on_postgres_do_400_jobs_once_each() {
    let mut servers = Servers(Vec::new());
    runners::do_every_job_once(servers.fresh(8).await, 400).await;
}

async fn every_promise(mut databases: impl Databases) {
    deliveries::are_kept_once_and_come_in_order(&*databases.one().await).await;
    deliveries::are_received_by_the_hundred(&*databases.one().await).await;
    deliveries::of_the_same_moment_are_kept_once(databases.fresh(2).await).await;
    deliveries::that_cannot_be_handled_come_again_or_are_given_up(&*databases.one().await).await;
    deliveries::that_ask_for_nothing_are_done_together(&*databases.one().await).await;
    deliveries::without_a_body_are_done_like_others(&*databases.one().await).await;
    deliveries::are_forgotten_when_they_ended_long_ago(&*databases.one().await).await;

    jobs::read_back_as_they_were_queued(&*databases.one().await).await;
    jobs::go_from_state_to_state(&*databases.one().await).await;
    jobs::come_to_a_runner_by_a_lease_only(&*databases.one().await).await;
    jobs::keep_all_of_a_change_or_nothing(&*databases.one().await).await;
    jobs::of_one_origin_are_queued_once(&*databases.one().await).await;
    jobs::decided_upon_by_many_change_once(databases.fresh(2).await).await;
    jobs::asked_for_by_many_are_queued_once(databases.fresh(2).await).await;
    jobs::locked_crosswise_do_not_fail(databases.fresh(2).await).await;
    jobs::are_found_by_pull_request_and_state(&*databases.one().await).await;
    jobs::count_against_budgets(&*databases.one().await).await;

    leases::go_to_the_oldest_job_that_fits(&*databases.one().await).await;
    leases::are_prolonged_until_they_are_lost(&*databases.one().await).await;
    leases::end_with_any_step_out_of_the_runners_hands(&*databases.one().await).await;
    leases::of_a_name_belong_to_one(&*databases.one().await).await;

    effects::come_by_urgency_then_age(&*databases.one().await).await;
    effects::asked_for_again_are_replaced_or_left(&*databases.one().await).await;
    effects::done_in_an_old_revision_stay_owed(&*databases.one().await).await;
    effects::that_fail_come_again_or_are_given_up(&*databases.one().await).await;
    effects::are_dropped_unless_done(&*databases.one().await).await;

    journal::reads_back_every_kind_of_event(&*databases.one().await).await;
    journal::grows_without_doubles_and_gaps(&*databases.one().await).await;
    journal::is_written_by_the_holder_of_the_lease_only(&*databases.one().await).await;
    journal::of_another_run_takes_the_place_of_the_first(&*databases.one().await).await;
    journal::keeps_any_text_by_its_hash(&*databases.one().await).await;
}
