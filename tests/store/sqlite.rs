//! What is particular to the SQLite store: the file, its neighbours and its views.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use kernelbrain::{
    kernel::{Candidate, CandidateId, Entry, Evaluation, Gate, Move, Rejection, Target, Verdict},
    search::{Decision, Event, Spend},
    store::{
        CeilingKey, CeilingStore, NewRun, RunStore, SqliteStore, StoreError, lock_output,
        sqlite::SqliteOptions,
    },
};
use sqlx::{Connection, Row, SqliteConnection, query, sqlite::SqliteConnectOptions};

#[tokio::test]
async fn folders_are_created_and_a_dropped_store_has_lost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/kernelbrain.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create_run(&new_run("run")).await.unwrap();
    store.append("run", &[warning("kept")]).await.unwrap();
    // As the death of a process leaves it: the file and its log, copied while the store is open.
    let after = folder.path().join("after.db");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        fs::copy(name(&path), name(&after)).unwrap();
    }
    drop(store);
    for path in [path, after] {
        let store = SqliteStore::open(&path).await.unwrap();
        assert_eq!(store.load("run").await.unwrap().1, [warning("kept")]);
    }
}

#[tokio::test]
async fn many_processes_may_open_a_fresh_database_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = Arc::new(folder.path().join("kernelbrain.db"));
    let openers: Vec<_> = (0..8)
        .map(|number| {
            let path = Arc::clone(&path);
            tokio::spawn(async move {
                let store = SqliteStore::open(&path).await.unwrap();
                store.create_run(&new_run(&format!("run-{number}"))).await.unwrap();
            })
        })
        .collect();
    for opener in openers {
        opener.await.unwrap();
    }
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.list().await.unwrap().len(), 8);
}

#[tokio::test]
async fn a_database_of_a_newer_kernelbrain_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernelbrain.db");
    SqliteStore::open(&path).await.unwrap().close().await;
    let mut raw = raw(&path).await;
    query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (99, 'from the future', true, x'00', 0)",
    )
    .execute(&mut raw)
    .await
    .unwrap();
    raw.close().await.unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err().to_string();
    assert!(
        error.ends_with("was written by a newer kernelbrain (migration 99); upgrade or use --db"),
        "{error}"
    );
}

#[tokio::test]
async fn a_database_of_an_older_kernelbrain_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernelbrain.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create_run(&new_run("kept")).await.unwrap();
    store.close().await;
    // As it was when runs were all that was kept.
    let mut raw = raw(&path).await;
    for step in [
        "DROP TABLE ceilings",
        "DROP TABLE experience",
        "DROP TABLE exchanges",
        "DROP TABLE job_events",
        "DROP TABLE job_runs",
        "DROP TABLE jobs",
        "DROP TABLE deliveries",
        "DROP TABLE effects",
        "DROP TABLE leaders",
        "DELETE FROM _sqlx_migrations WHERE version > 1",
    ] {
        query(step).execute(&mut raw).await.unwrap();
    }
    raw.close().await.unwrap();

    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.load("kept").await.unwrap().0.id, "kept");
    let nobody = CeilingKey { gpu: "GPU".into(), driver: "1".into(), clocks: "1/1 MHz".into() };
    assert_eq!(store.find_ceilings(&nobody).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_not_our_database_is_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("notes.txt");
    fs::write(&garbage, "not a database, whatever its name says\n".repeat(100)).unwrap();
    let error = SqliteStore::open(&garbage).await.unwrap_err();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
    assert!(fs::read_to_string(&garbage).unwrap().starts_with("not a database"));

    let foreign = folder.path().join("bookmarks.db");
    let mut other = raw(&foreign).await;
    query("CREATE TABLE bookmarks (url TEXT)").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    let error = SqliteStore::open(&foreign).await.unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_named() {
    // In /proc nobody creates anything, root included.
    let error = SqliteStore::open(Path::new("/proc/kernelbrain/kernelbrain.db")).await.unwrap_err();
    assert!(error.to_string().contains("/proc/kernelbrain"), "{error}");
    assert!(error.to_string().contains("--db"), "{error}");
    let error = SqliteStore::open(Path::new("/proc/kernelbrain.db")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = SqliteStore::open(folder.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "a folder is no database: {error}");
}

#[tokio::test]
async fn another_writer_is_waited_for_and_then_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernelbrain.db");
    let options = SqliteOptions { busy_timeout: Duration::from_millis(50), ..Default::default() };
    let store = SqliteStore::open_with(&path, options).await.unwrap();
    store.create_run(&new_run("run")).await.unwrap();

    let mut other = raw(&path).await;
    query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let error = store.append("run", &[warning("x")]).await.unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert_eq!(store.load("run").await.unwrap().1, [], "readers do not wait");
    query("ROLLBACK").execute(&mut other).await.unwrap();
    store.append("run", &[warning("x")]).await.unwrap();
}

#[tokio::test]
async fn the_journal_cannot_be_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernelbrain.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create_run(&new_run("run")).await.unwrap();
    store.append("run", &[warning("said")]).await.unwrap();
    let mut raw = raw(&path).await;
    let error = query("UPDATE events SET body = '{}'").execute(&mut raw).await.unwrap_err();
    assert!(error.to_string().contains("append-only"), "{error}");
}

#[tokio::test]
async fn people_can_ask_the_views() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernelbrain.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create_run(&new_run("run")).await.unwrap();
    store.append("run", &a_short_search()).await.unwrap();

    let mut raw = raw(&path).await;
    let mut ask = async |sql: &'static str| -> Vec<String> {
        let rows = query(sql).fetch_all(&mut raw).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(
        ask("SELECT move || ' <- ' || parent FROM candidates WHERE parent IS NOT NULL").await,
        [format!("warps 8 <- {}", CandidateId::of("pass\n"))]
    );
    assert_eq!(
        ask("SELECT cast(text AS TEXT) FROM candidates JOIN sources USING (source) \
             WHERE move = 'baseline'")
        .await,
        ["pass\n"]
    );
    assert_eq!(
        ask("SELECT move || ': ' || gate || ', ' || reason || ' on ' || rejected_on \
             FROM evaluations JOIN candidates USING (run, candidate) WHERE verdict = 'rejected'")
        .await,
        ["warps 8: correctness, differs on ragged"]
    );
    assert_eq!(ask("SELECT case_name || ' ' || latency_us FROM timings").await, ["medium 58.5"]);
    assert_eq!(
        ask("SELECT decision || ' from rung ' || rung || ': ' || reason FROM decisions").await,
        ["promote from rung 0: rank 1 of 3"]
    );
}

#[test]
fn one_output_folder_belongs_to_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("not/yet/there");
    let lock = lock_output(&out).unwrap();
    let error = lock_output(&out).unwrap_err().to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    assert!(error.contains("--out"), "{error}");
    drop(lock);
    lock_output(&out).unwrap();

    let error = lock_output(Path::new("/proc/kernelbrain-out")).unwrap_err().to_string();
    assert!(error.contains("/proc/kernelbrain-out"), "{error}");
}

fn a_short_search() -> Vec<Event> {
    let baseline = Candidate::baseline("pass\n");
    let origin = Move::Recipe { text: "warps 8".into() };
    let child = Candidate::child(&baseline.id, origin, "pass  # 8\n");
    let measured = kernelbrain::kernel::CaseMeasurement {
        case: "medium".into(),
        latency_us: 58.5,
        baseline_us: None,
        host_us: None,
        backward_us: None,
        error: None,
    };
    let evaluation = |candidate: &Candidate, verdict, cases| Evaluation {
        candidate: candidate.id.clone(),
        rung: 0,
        verdict,
        cases,
        build: vec![],
        diagnosis: None,
        disturbed: 0,
        profiling: None,
        cost: Default::default(),
        same_program_as: None,
        observed: None,
        ended_at: None,
    };
    let rejection = Rejection::new(Gate::Correctness, "differs").on_case("ragged");
    vec![
        Event::CandidateAdded { candidate: baseline.clone() },
        Event::BaselineMeasured {
            evaluation: evaluation(&baseline, Verdict::Accepted, vec![measured]),
        },
        Event::CandidateAdded { candidate: child.clone() },
        Event::Evaluated {
            evaluation: evaluation(&child, Verdict::Rejected(rejection), vec![]),
            spent: Spend::default(),
        },
        Event::Decided {
            candidate: baseline.id,
            rung: 0,
            decision: Decision::Promote { reason: "rank 1 of 3".into() },
        },
    ]
}

fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.into(),
        key: "key".into(),
        output: "/tmp/out".into(),
        target: Target {
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
        },
        plan: serde_json::Value::Null,
        created: SystemTime::UNIX_EPOCH,
    }
}

fn warning(text: &str) -> Event {
    Event::Warned { text: text.into() }
}

async fn raw(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    SqliteConnection::connect_with(&options).await.unwrap()
}
