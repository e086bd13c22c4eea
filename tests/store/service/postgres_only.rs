//! What is particular to Postgres: getting in, and getting along.

use std::str::FromStr;

use kernelbrain::store::{
    PostgresStore, StoreError,
    service::{Applied, Change, DeliveryStore, EffectStore, Inserted, JobState, JobStore},
};
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

use crate::{
    postgres::fresh_database,
    service::stories::{effect, keep, look, new_job, owing, queueing, receipt, step, stepping},
};

#[tokio::test(flavor = "multi_thread")]
async fn many_processes_may_prepare_an_empty_database_together() {
    let database = fresh_database().await;
    let starting: Vec<_> = (0..8)
        .map(|number| {
            let url = database.url.clone();
            tokio::spawn(async move {
                let store = PostgresStore::connect(&url).await.unwrap();
                store.receive(&[receipt(&format!("delivery-{number}"))]).await.unwrap();
            })
        })
        .collect();
    for start in starting {
        start.await.unwrap();
    }
    let store = PostgresStore::connect(&database.url).await.unwrap();
    assert_eq!(store.deliveries_due(1000, 100).await.unwrap().len(), 8);
}

#[tokio::test]
async fn a_database_outlives_the_process() {
    let database = fresh_database().await;
    let store = PostgresStore::connect(&database.url).await.unwrap();
    store.receive(&[receipt("a")]).await.unwrap();
    store.close().await;
    let store = PostgresStore::connect(&database.url).await.unwrap();
    assert_eq!(store.receive(&[receipt("a")]).await.unwrap(), [Inserted::Known]);
}

#[tokio::test]
async fn a_database_of_a_newer_kernelbrain_is_left_alone() {
    let database = fresh_database().await;
    PostgresStore::connect(&database.url).await.unwrap().close().await;
    let mut raw = PgConnection::connect(&database.url).await.unwrap();
    sqlx::query(
        "INSERT INTO kernelbrain_migrations \
         (version, description, success, checksum, execution_time) \
         VALUES (99, 'from the future', true, '\\x00', 0)",
    )
    .execute(&mut raw)
    .await
    .unwrap();
    let error = PostgresStore::connect(&database.url).await.unwrap_err();
    assert!(matches!(error, StoreError::NewerServer { migration: 99, .. }), "{error}");
    assert!(error.to_string().ends_with("upgrade this one"), "{error}");
}

#[tokio::test]
async fn a_database_with_tables_of_another_program_is_refused_and_unchanged() {
    let database = fresh_database().await;
    let mut raw = PgConnection::connect(&database.url).await.unwrap();
    sqlx::query("CREATE TABLE jobs (title TEXT)").execute(&mut raw).await.unwrap();
    let error = PostgresStore::connect(&database.url).await.unwrap_err();
    assert!(matches!(error, StoreError::Unprepared { .. }), "{error}");
    assert!(error.to_string().contains("\"jobs\" already exists"), "{error}");
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
            .fetch_all(&mut raw)
            .await
            .unwrap();
    assert_eq!(tables, ["jobs"]);
}

#[tokio::test]
async fn who_is_not_let_in_is_told_why_and_no_password_is_shown() {
    let database = fresh_database().await;
    let real = PgConnectOptions::from_str(&database.url).unwrap();
    let place = real.get_socket().map_or(real.get_host().to_owned(), |it| it.display().to_string());
    let place = place.replace('/', "%2F");
    let at = |user: &str, name: &str| {
        format!("postgres://{user}:hunter2@{place}:{}/{name}", real.get_port())
    };
    let told = async |url: &str| {
        let error = PostgresStore::connect(url).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        error
    };
    let error = told(&at(real.get_username(), "no_such_database")).await;
    assert!(matches!(error, StoreError::NoEntry { .. }), "{error}");
    let error = told(&at("no_such_user", "postgres")).await;
    assert!(matches!(error, StoreError::NoEntry { .. }), "{error}");
    let error = told("postgres://kb:hunter2@127.0.0.1:1/kb").await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("kb at 127.0.0.1:1 (user kb)"), "{error}");
    for url in ["mysql://kb:hunter2@host/kb", "postgres://kb:hunter2@host:port/kb", "hunter2"] {
        let error = told(url).await;
        assert!(matches!(error, StoreError::Address { .. }), "{error}");
        assert!(error.to_string().contains("postgres://user:password@host:5432/name"), "{error}");
    }
}

/// A person at a prompt has the effect and wants the job; the store has the job and wants the effect.
#[tokio::test(flavor = "multi_thread")]
async fn what_postgres_undid_for_the_sake_of_another_is_tried_again() {
    let database = fresh_database().await;
    let store = PostgresStore::connect(&database.url).await.unwrap();
    keep(&store, queueing([new_job("one")]), 7).await;
    keep(&store, owing([effect("comment")]), 7).await;
    let mut watching = PgConnection::connect(&database.url).await.unwrap();
    for round in 1.. {
        assert!(round < 20, "Postgres never undid what the store did");
        let mut person = PgConnection::connect(&database.url).await.unwrap();
        let mut person = person.begin().await.unwrap();
        let take = "SELECT 1 FROM effects FOR UPDATE";
        sqlx::query(take).execute(&mut *person).await.unwrap();

        let job = look(&store, "one").await;
        let change =
            Change { effects: vec![effect("comment")], ..stepping([step(&job, JobState::Queued)]) };
        let applying = tokio::spawn({
            let store = store.clone();
            async move { store.apply(&change, 8).await }
        });
        while !somebody_waits(&mut watching).await {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        // Now each waits for the other, until Postgres takes note and undoes one: nearly always the
        // one that has waited longer.
        let want = "UPDATE jobs SET reason = 'seen'";
        let served = sqlx::query(want).execute(&mut *person).await.is_ok();
        if served {
            person.commit().await.unwrap();
        } else {
            person.rollback().await.unwrap();
        }
        assert_eq!(applying.await.unwrap().unwrap(), Applied::Kept);
        let now = look(&store, "one").await;
        assert_eq!(now.version, job.version + 1, "once");
        let revision = store.effect("comment").await.unwrap().unwrap().revision;
        assert_eq!(revision, now.version, "once");
        if served {
            assert_eq!(now.reason, "seen");
            return;
        }
    }
}

async fn somebody_waits(watching: &mut PgConnection) -> bool {
    sqlx::query_scalar(
        "SELECT count(*) > 0 FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    .fetch_one(watching)
    .await
    .unwrap()
}
