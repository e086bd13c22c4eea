//! What every store promises, told once and asked of each implementation.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use kernelbrain::{
    engine::StoredJournal,
    kernel::{CandidateId, CeilingMethod, Ceilings, Precision, RequestKind},
    search::{Event, Outcome, ports::Journal},
    store::{
        CeilingKey, CeilingStore, ExchangeKey, ExchangeStore, KeptExchange, NewRun, RunState,
        RunStore, SqliteStore, StoreError,
    },
};

use crate::{
    experience,
    samples::{SOURCE, added, environment, one_of_each, target, warning},
};

#[tokio::test]
async fn sqlite_keeps_every_promise() {
    let folder = tempfile::tempdir().unwrap();
    let mut databases = 0;
    // Each promise gets a database of its own.
    let mut fresh = async || {
        databases += 1;
        let path = folder.path().join(format!("{databases}.db"));
        Arc::new(SqliteStore::open(&path).await.unwrap())
    };

    a_run_reads_back_as_it_was_created(&*fresh().await).await;
    every_kind_of_event_reads_back(&*fresh().await).await;
    runs_do_not_see_one_another(&*fresh().await).await;
    a_run_opens_parks_and_ends_with_its_events(&*fresh().await).await;
    the_same_command_finds_its_unfinished_run(&*fresh().await).await;
    an_append_is_all_or_nothing(&*fresh().await).await;
    what_does_not_exist_is_named(&*fresh().await).await;
    any_text_survives(&*fresh().await).await;
    long_journals_keep_their_order(&*fresh().await).await;
    appends_at_the_same_time_do_not_lose_events(fresh().await).await;
    the_search_can_write_through_its_port(fresh().await).await;
    ceilings_hold_for_one_device_driver_and_clocks(&*fresh().await).await;
    exchanges_are_kept_once_a_request_and_in_order(&*fresh().await).await;
    experience::reads_back_and_recording_it_again_changes_nothing(&*fresh().await).await;
    experience::of_a_candidate_recorded_later_stays(&*fresh().await).await;
    experience::is_listed_and_forgotten_by_what_it_is_about(&*fresh().await).await;
    experience::of_many_runs_can_be_recorded_at_the_same_time(fresh().await).await;
}

async fn exchanges_are_kept_once_a_request_and_in_order(store: &(impl RunStore + ExchangeStore)) {
    let (first, second) = (new_run("one", "k1"), new_run("two", "k2"));
    store.create_run(&first).await.unwrap();
    store.create_run(&second).await.unwrap();
    let key =
        |parent: &str, rung, kind| ExchangeKey { parent: CandidateId::of(parent), rung, kind };
    let kept = |key: &ExchangeKey, said: &str| KeptExchange {
        key: key.clone(),
        body: serde_json::json!({"said": said, "odd": "\u{0}\u{1f680}"}),
    };
    let keys = [
        key("a", None, RequestKind::Rewrite(0)),
        key("a", Some(0), RequestKind::Rewrite(0)),
        key("b", None, RequestKind::Repair(2)),
    ];
    for key in &keys {
        store.keep_exchange(&first.id, &kept(key, "asked")).await.unwrap();
    }
    store.keep_exchange(&first.id, &kept(&keys[0], "answered")).await.unwrap();
    let expected = [kept(&keys[0], "answered"), kept(&keys[1], "asked"), kept(&keys[2], "asked")];
    assert_eq!(store.exchanges(&first.id).await.unwrap(), expected);
    assert_eq!(store.exchanges(&second.id).await.unwrap(), [], "another run's are its own");
}

async fn ceilings_hold_for_one_device_driver_and_clocks(store: &impl CeilingStore) {
    let key = CeilingKey {
        gpu: "GPU-1a2b3c4d-0011-2233-4455-66778899aabb".into(),
        driver: "580.95.05".into(),
        clocks: "1980/3201 MHz".into(),
    };
    assert_eq!(store.find_ceilings(&key).await.unwrap(), None);
    let mut ceilings = Ceilings {
        method: CeilingMethod::Short,
        theoretical_gbps: Some(4916.736),
        copy_gbps: Some(4251.25),
        l2_bytes: Some(62_914_560),
        products: [(Precision::Bf16, 742.125)].into(),
        skipped: [("fp8".to_owned(), "the device has no FP8 units".to_owned())].into(),
        ..Ceilings::default()
    };
    store.put_ceilings(&key, &ceilings, SystemTime::UNIX_EPOCH).await.unwrap();
    assert_eq!(store.find_ceilings(&key).await.unwrap(), Some(ceilings.clone()));

    ceilings.method = CeilingMethod::Full;
    store.put_ceilings(&key, &ceilings, SystemTime::now()).await.unwrap();
    assert_eq!(store.find_ceilings(&key).await.unwrap(), Some(ceilings), "the newer ones");

    for other in [
        CeilingKey { gpu: "GPU-other".into(), ..key.clone() },
        CeilingKey { driver: "575.51".into(), ..key.clone() },
        CeilingKey { clocks: "1410/3201 MHz".into(), ..key.clone() },
    ] {
        assert_eq!(store.find_ceilings(&other).await.unwrap(), None, "{other:?}");
    }
}

async fn a_run_reads_back_as_it_was_created(store: &impl RunStore) {
    let run = new_run("first", "key");
    store.create_run(&run).await.unwrap();
    let (record, events) = store.load("first").await.unwrap();
    assert_eq!(events, []);
    assert_eq!(record.target, run.target);
    assert_eq!(record.plan, run.plan);
    assert_eq!(record.output, run.output);
    assert_eq!(record.created, run.created);
    assert_eq!((record.state, record.outcome, record.environment), (RunState::Open, None, None));

    let environment = environment();
    store.set_environment("first", &environment).await.unwrap();
    assert_eq!(store.load("first").await.unwrap().0.environment, Some(environment));

    let again = store.create_run(&run).await;
    assert!(matches!(again, Err(StoreError::RunExists { .. })), "{again:?}");
}

async fn every_kind_of_event_reads_back(store: &impl RunStore) {
    store.create_run(&new_run("run", "key")).await.unwrap();
    let events = one_of_each();
    store.append("run", &events[..4]).await.unwrap();
    store.append("run", &events[4..]).await.unwrap();
    assert_eq!(store.load("run").await.unwrap().1, events);
}

async fn runs_do_not_see_one_another(store: &impl RunStore) {
    store.create_run(&new_run("one", "key-1")).await.unwrap();
    store.create_run(&new_run("two", "key-2")).await.unwrap();
    for number in 0..3 {
        store.append("one", &[warning(&format!("one {number}"))]).await.unwrap();
        store.append("two", &[warning(&format!("two {number}"))]).await.unwrap();
    }
    // The same candidate in both: its source is kept once and belongs to each.
    store.append("one", &[added(SOURCE)]).await.unwrap();
    store.append("two", &[added(SOURCE)]).await.unwrap();
    for run in ["one", "two"] {
        let expected: Vec<_> = (0..3)
            .map(|number| warning(&format!("{run} {number}")))
            .chain([added(SOURCE)])
            .collect();
        assert_eq!(store.load(run).await.unwrap().1, expected);
    }
    let listed: Vec<_> = store.list().await.unwrap();
    let lines: Vec<_> = listed.iter().map(|run| (run.id.as_str(), run.events)).collect();
    assert_eq!(lines, [("two", 4), ("one", 4)], "newest first");
    assert_eq!(listed[0].target, "softmax");
}

async fn a_run_opens_parks_and_ends_with_its_events(store: &impl RunStore) {
    store.create_run(&new_run("run", "key")).await.unwrap();
    let parked = Outcome::Parked { reason: "two prompts await answers".into() };
    let ended = Outcome::NoImprovement { reason: "nothing was faster".into() };
    let state = async || {
        let record = store.load("run").await.unwrap().0;
        (record.state, record.outcome)
    };
    store.append("run", &[warning("x"), Event::Ended { outcome: parked.clone() }]).await.unwrap();
    assert_eq!(state().await, (RunState::Parked, Some(parked)));
    store.append("run", &[Event::Resumed { reset: None }]).await.unwrap();
    assert_eq!(state().await, (RunState::Open, None));
    store.append("run", &[Event::Ended { outcome: ended.clone() }]).await.unwrap();
    assert_eq!(state().await, (RunState::Ended, Some(ended)));

    store.create_run(&new_run("stillborn", "key")).await.unwrap();
    let failed = Outcome::Failed { reason: "the contract does not import".into() };
    store.end("stillborn", &failed).await.unwrap();
    let (record, events) = store.load("stillborn").await.unwrap();
    assert_eq!((record.state, record.outcome), (RunState::Ended, Some(failed)));
    assert_eq!(events, []);
}

async fn the_same_command_finds_its_unfinished_run(store: &impl RunStore) {
    assert_eq!(store.find_open_by_key("key").await.unwrap(), None);
    for id in ["a", "b", "c", "other"] {
        let key = if id == "other" { "other key" } else { "key" };
        store.create_run(&new_run(id, key)).await.unwrap();
    }
    assert_eq!(store.find_open_by_key("key").await.unwrap().as_deref(), Some("c"));
    let over = Outcome::NoImprovement { reason: String::new() };
    store.end("c", &over).await.unwrap();
    store.end("b", &Outcome::Parked { reason: String::new() }).await.unwrap();
    let found = store.find_open_by_key("key").await.unwrap();
    assert_eq!(found.as_deref(), Some("b"), "a parked run goes on too");
    store.end("b", &over).await.unwrap();
    store.end("a", &over).await.unwrap();
    assert_eq!(store.find_open_by_key("key").await.unwrap(), None);
}

async fn an_append_is_all_or_nothing(store: &impl RunStore) {
    store.create_run(&new_run("run", "key")).await.unwrap();
    store.append("run", &[]).await.unwrap();
    let batch = [warning("before"), Event::Ticked { wall_seconds: f64::NAN }, warning("after")];
    let refused = store.append("run", &batch).await.unwrap_err();
    assert!(refused.to_string().contains("ticked"), "{refused}");
    assert_eq!(store.load("run").await.unwrap().1, []);
}

async fn what_does_not_exist_is_named(store: &impl RunStore) {
    let outcome = Outcome::Failed { reason: String::new() };
    let answers = [
        store.append("ghost", &[warning("boo")]).await,
        store.load("ghost").await.map(drop),
        store.set_environment("ghost", &environment()).await,
        store.end("ghost", &outcome).await,
    ];
    for answer in answers {
        assert!(answer.unwrap_err().to_string().contains("no run ghost"));
    }
}

async fn any_text_survives(store: &impl RunStore) {
    store.create_run(&new_run("run", "key")).await.unwrap();
    let long = "x = 1  # ten megabytes of this\n".repeat(350_000);
    assert!(long.len() > 10_000_000);
    let texts = ["", "\0", "a\0b\r\nc\rd", "π = 3 # \u{1f525} \u{202e}", &long];
    let mut events = Vec::new();
    for text in texts {
        events.push(added(text));
        if text.len() < 100 {
            events.push(warning(text));
        }
    }
    store.append("run", &events).await.unwrap();
    assert!(store.load("run").await.unwrap().1 == events, "texts changed");
}

async fn long_journals_keep_their_order(store: &impl RunStore) {
    store.create_run(&new_run("run", "key")).await.unwrap();
    // Not representable in a few decimal digits: exactness is part of the promise, because a
    // resumed search must decide as the undisturbed one would.
    let events: Vec<_> =
        (0..10_000).map(|n| Event::Ticked { wall_seconds: f64::from(n).sqrt() / 3.0 }).collect();
    for batch in events.chunks(37) {
        store.append("run", batch).await.unwrap();
    }
    assert!(store.load("run").await.unwrap().1 == events, "events changed or moved");
    assert_eq!(store.list().await.unwrap()[0].events, 10_000);
}

async fn appends_at_the_same_time_do_not_lose_events(store: Arc<impl RunStore + 'static>) {
    store.create_run(&new_run("run", "key")).await.unwrap();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for number in 0..20 {
                    store.append("run", &[warning(&format!("{writer}/{number}"))]).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let events = store.load("run").await.unwrap().1;
    assert_eq!(events.len(), 160);
    for writer in 0..8 {
        let own: Vec<_> = (0..20).map(|number| warning(&format!("{writer}/{number}"))).collect();
        let kept: Vec<_> = events.iter().filter(|event| own.contains(event)).cloned().collect();
        assert_eq!(kept, own, "each writer's events keep their order");
    }
}

async fn the_search_can_write_through_its_port(store: Arc<impl RunStore + 'static>) {
    store.create_run(&new_run("run", "key")).await.unwrap();
    let mut journal = StoredJournal::new(store.clone(), "run");
    journal.append(&[added(SOURCE)]).await.unwrap();
    assert_eq!(store.load("run").await.unwrap().1, [added(SOURCE)]);
    let mut lost = StoredJournal::new(store.clone(), "ghost");
    let error = lost.append(&[warning("boo")]).await.unwrap_err();
    assert!(error.to_string().contains("no run ghost"), "{error}");
}

fn new_run(id: &str, key: &str) -> NewRun {
    NewRun {
        id: id.into(),
        key: key.into(),
        output: PathBuf::from("/tmp/out ü"),
        target: target(),
        plan: serde_json::json!({"seed": 7, "rungs": [{"keep": 0.3333333333333333}]}),
        created: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_959_901_250),
    }
}
