//! A run that goes from host to host: each goes on from the copy, wherever it was left.

use std::{path::PathBuf, time::SystemTime};

use kernelbrain::{
    engine::Follower,
    search::Event,
    store::{NewRun, RunRecord, RunStore, SqliteStore},
};

use crate::samples::{target, warning};

const RUN: &str = "20261129-134501-softmax-3f2a";

/// A host with its own database and folder.
struct Host {
    folder: tempfile::TempDir,
    store: SqliteStore,
}

impl Host {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("kernelbrain.db")).await.unwrap();
        Self { folder, store }
    }

    fn root(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    async fn begin(&self) {
        let run = NewRun {
            id: RUN.to_owned(),
            key: "key".to_owned(),
            output: self.folder.path().join("out"),
            target: target(),
            plan: serde_json::json!({"folder": self.root()}),
            created: SystemTime::UNIX_EPOCH,
        };
        self.store.create_run(&run).await.unwrap();
    }

    async fn measure(&self, what: &[Event]) {
        self.store.append(RUN, what).await.unwrap();
    }

    async fn journal(&self) -> (RunRecord, Vec<Event>) {
        self.store.load(RUN).await.unwrap()
    }

    /// Takes over from another host.
    async fn take_over(&self, from: &Self) {
        let (record, events) = from.journal().await;
        let database = self.folder.path().join("kernelbrain.db");
        let mut follower =
            Follower::open(&database, &self.folder.path().join("out")).await.unwrap();
        follower.restore(&record, &events, &from.root(), &self.root()).await.unwrap();
    }
}

fn events(texts: &[&str]) -> Vec<Event> {
    texts.iter().map(|text| warning(text)).collect()
}

#[tokio::test]
async fn a_host_that_never_saw_the_run_gets_all_of_it_with_its_own_paths() {
    let (first, second) = (Host::new().await, Host::new().await);
    first.begin().await;
    first.measure(&events(&["one", "two"])).await;
    second.take_over(&first).await;
    let (record, journal) = second.journal().await;
    assert_eq!(journal, events(&["one", "two"]));
    assert_eq!(record.output, PathBuf::from(second.root()).join("out"));
    assert_eq!(record.plan["folder"], second.root());
}

#[tokio::test]
async fn what_a_host_measured_beyond_the_copy_stays() {
    let (first, copy) = (Host::new().await, Host::new().await);
    first.begin().await;
    first.measure(&events(&["one"])).await;
    copy.take_over(&first).await;
    first.measure(&events(&["two"])).await;
    first.take_over(&copy).await;
    assert_eq!(first.journal().await.1, events(&["one", "two"]));
}

#[tokio::test]
async fn a_host_that_fell_behind_goes_on_from_the_copy_and_not_from_its_own() {
    let (first, second) = (Host::new().await, Host::new().await);
    first.begin().await;
    first.measure(&events(&["one"])).await;
    second.take_over(&first).await;
    second.measure(&events(&["two", "three"])).await;
    // The first measured something that was never copied, and died.
    first.measure(&events(&["two, but nobody knows"])).await;
    first.take_over(&second).await;
    assert_eq!(first.journal().await.1, events(&["one", "two", "three"]));
}
