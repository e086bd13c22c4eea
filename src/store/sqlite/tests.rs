use super::*;
use crate::{
    kernel::{Candidate, Entry, Event, Target},
    store::{NewRun, RunStore},
};

/// SQLite is told that the file may not grow, which is what a full disk tells it.
#[tokio::test]
async fn a_full_disk_is_named_and_costs_nothing_that_was_written_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("kernelbrain.db")).await.unwrap();
    let target = Target {
        name: "softmax".into(),
        source: "softmax.py".into(),
        text: "pass\n".into(),
        entry: Entry { module: None, function: None },
        contract: "test.py".into(),
        editable: None,
        package: None,
        rules: vec![],
        tests: None,
        archs: Vec::new(),
    };
    let run = NewRun {
        id: "run".into(),
        key: "key".into(),
        output: "/tmp/out".into(),
        target,
        plan: serde_json::Value::Null,
        created: std::time::SystemTime::UNIX_EPOCH,
    };
    store.create_run(&run).await.unwrap();
    let kept = Event::Warned { text: "kept".into() };
    store.append("run", std::slice::from_ref(&kept)).await.unwrap();

    let mut connections = Vec::new();
    for _ in 0..store.pool.options().get_max_connections() {
        let mut connection = store.pool.acquire().await.unwrap();
        sqlx::query("PRAGMA max_page_count = 1").execute(&mut *connection).await.unwrap();
        connections.push(connection);
    }
    drop(connections);
    let huge = Event::CandidateAdded { candidate: Candidate::baseline("x".repeat(1 << 20)) };
    let error = store.append("run", &[huge]).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(store.load("run").await.unwrap().1, [kept]);
}
