//! What is particular to a service's database in SQLite.

use std::{path::PathBuf, time::Duration};

use kernelbrain::store::{
    SqliteStore, StoreError,
    service::{DeliveryStore, Inserted},
    sqlite::SqliteOptions,
};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::service::stories::receipt;

#[tokio::test]
async fn another_process_that_writes_is_waited_for_and_then_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.db");
    let options =
        SqliteOptions { busy_timeout: Duration::from_millis(50), ..SqliteOptions::service() };
    let store = SqliteStore::open_with(&path, options).await.unwrap();
    let other = SqliteConnectOptions::new().filename(&path);
    let mut other = SqliteConnection::connect_with(&other).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let error = store.receive(&[receipt("a")]).await.unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert_eq!(store.delivery_state("a").await.unwrap(), None, "readers do not wait");
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(store.receive(&[receipt("a")]).await.unwrap(), [Inserted::New]);
}

#[tokio::test]
async fn what_was_acknowledged_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.db");
    let store = SqliteStore::open_with(&path, SqliteOptions::service()).await.unwrap();
    store.receive(&[receipt("a")]).await.unwrap();
    // As the death of a process leaves it: the file and its log, copied while the store is open.
    let after = folder.path().join("after.db");
    for suffix in ["", "-wal"] {
        let name = |path: &PathBuf| PathBuf::from(format!("{}{suffix}", path.display()));
        std::fs::copy(name(&path), name(&after)).unwrap();
    }
    let store = SqliteStore::open_with(&after, SqliteOptions::service()).await.unwrap();
    assert_eq!(store.receive(&[receipt("a")]).await.unwrap(), [Inserted::Known]);
}
