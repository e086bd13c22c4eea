//! What every store promises about experience, and what its text form does.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use kernelbrain::{
    kernel::{CandidateId, Failure, Gate, Move, Observation},
    store::{ExperienceFilter, ExperienceStore, from_json_lines, to_json_lines},
};

/// What a rewrite of `source` did in `run`.
fn observation(run: &str, source: &str) -> Observation {
    Observation {
        run: run.into(),
        candidate: CandidateId::of(source),
        target: "softmax".into(),
        operator: "reduction+exponential+loop/f16:2".into(),
        arch: "sm_90".into(),
        triton: "3.6.0".into(),
        origin: Move::Rewrite { task: "online-softmax".into(), repairs: 1 },
        parent_speedup: Some(1.0 / 3.0),
        speedup: Some(0.1 + 0.2),
        gain: Some(0.9),
        headroom_closed: Some(-0.25),
        failure: Some(Failure {
            gate: Gate::Correctness,
            reason: "differs by 3 % – \"ragged\"".into(),
        }),
        repaired: true,
        recorded: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_959_901_250),
    }
}

async fn all_experience(store: &impl ExperienceStore) -> Vec<Observation> {
    store.list_experience(&ExperienceFilter::default()).await.unwrap()
}

pub(crate) async fn reads_back_and_recording_it_again_changes_nothing(
    store: &impl ExperienceStore,
) {
    assert_eq!(all_experience(store).await, []);
    assert_eq!(store.record_experience(&[]).await.unwrap(), 0);
    let mut known = vec![observation("a run of another machine", "1"), observation("b", "1")];
    known[1].origin = Move::Recipe { text: "warps 8; tile BLOCK=512".into() };
    known[1].failure = None;
    known[1].recorded += Duration::from_secs(1);
    assert_eq!(store.record_experience(&known).await.unwrap(), 2);
    assert_eq!(all_experience(store).await, known, "the oldest first");
    let again = from_json_lines(to_json_lines(&known).as_bytes()).unwrap();
    assert_eq!(store.record_experience(&again).await.unwrap(), 0);
    assert_eq!(all_experience(store).await, known);
}

pub(crate) async fn of_a_candidate_recorded_later_stays(store: &impl ExperienceStore) {
    let early = observation("run", "1");
    let mut later = Observation { failure: None, gain: Some(1.5), ..early.clone() };
    later.origin = Move::Recipe { text: "stages 3".into() };
    later.recorded += Duration::from_millis(1);
    for batch in [&[early.clone()][..], &[later.clone(), early.clone()], &[early]] {
        store.record_experience(batch).await.unwrap();
    }
    assert_eq!(all_experience(store).await, [later]);
    let by_move = ExperienceFilter { step: Some("recipe stages".into()), ..Default::default() };
    assert_eq!(store.list_experience(&by_move).await.unwrap().len(), 1, "columns follow");
}

pub(crate) async fn is_listed_and_forgotten_by_what_it_is_about(store: &impl ExperienceStore) {
    let recipe = |text: &str| Move::Recipe { text: text.into() };
    let known = [
        observation("one", "1"),
        Observation { arch: "cpu".into(), ..observation("one", "2") },
        Observation { operator: "dot+loop/f16:2".into(), ..observation("two", "1") },
        Observation { origin: recipe("tile B=1; warps 8"), ..observation("two", "2") },
        Observation { origin: recipe("warps 4; tile A=2"), ..observation("two", "3") },
    ];
    store.record_experience(&known).await.unwrap();
    let filter = |operator: &str, arch: &str, step: &str, run: &str| {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (operator, arch, step, run) = (given(operator), given(arch), given(step), given(run));
        ExperienceFilter { operator, arch, step, run }
    };
    for (filter, expected) in [
        (filter("", "", "", ""), 5),
        (filter("", "cpu", "", ""), 1),
        (filter("dot+loop/f16:2", "", "", ""), 1),
        (filter("", "", "recipe tile+warps", ""), 2),
        (filter("", "", "online-softmax", "one"), 2),
        (filter("dot+loop/f16:2", "", "", "one"), 0),
        (filter("", "", "online%", ""), 0),
    ] {
        let listed = store.list_experience(&filter).await.unwrap();
        assert_eq!(listed.len(), expected, "{filter:?}");
    }
    let forget = async |filter| store.forget_experience(&filter).await.unwrap();
    assert_eq!(forget(filter("", "", "recipe tile+warps", "one")).await, 0);
    assert_eq!(forget(filter("", "", "recipe tile+warps", "two")).await, 2);
    assert_eq!(all_experience(store).await.len(), 3);
    assert_eq!(forget(filter("", "", "", "")).await, 3);
    assert_eq!(all_experience(store).await, []);
}

pub(crate) async fn of_many_runs_can_be_recorded_at_the_same_time(
    store: Arc<impl ExperienceStore + 'static>,
) {
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let run = format!("run {writer}");
                let seen: Vec<_> = (0..50).map(|at| observation(&run, &at.to_string())).collect();
                store.record_experience(&seen).await.unwrap()
            })
        })
        .collect();
    for writer in writers {
        assert_eq!(writer.await.unwrap(), 50);
    }
    assert_eq!(all_experience(&*store).await.len(), 400);
}

#[test]
fn a_line_that_is_no_observation_is_named_by_its_number() {
    let good = to_json_lines(&[observation("run", "1")]);
    let with = |field: &str, value: serde_json::Value| {
        let mut line: serde_json::Value = serde_json::from_str(&good).unwrap();
        line[field] = value;
        line.to_string()
    };
    assert_eq!(from_json_lines(format!("\n{good}\r\n  \n").as_bytes()).unwrap().len(), 1);
    let bad: [(&str, Vec<u8>); 8] = [
        ("prose", b"once upon a time".to_vec()),
        ("cut", good.as_bytes()[..good.len() - 9].to_vec()),
        ("list", b"[]".to_vec()),
        ("gate", with("failure", serde_json::json!({"gate": "taste", "reason": "x"})).into()),
        ("escape", with("target", serde_json::json!("a\u{1b}[2J")).into()),
        ("moment", with("recorded", serde_json::json!("yesterday")).into()),
        ("bytes", b"{\"run\": \"\xff\"}".to_vec()),
        ("huge", "x".repeat(100_000).into()),
    ];
    let said: Vec<String> = bad
        .iter()
        .map(|(what, line)| {
            let text = [good.as_bytes(), line, b"\n", good.as_bytes()].concat();
            format!("{what}: {}", from_json_lines(&text).unwrap_err())
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    prose: line 2: it is no observation: a JSON object is expected
    cut: line 2: it is no observation: EOF while parsing a string at column 424
    list: line 2: it is no observation: a JSON object is expected
    gate: line 2: it is no observation: unknown variant `taste`, expected one of `policy`, `build`, `correctness`, `integrity`, `performance`, `repository_tests` at column 329
    escape: line 2: target has control characters in it
    moment: line 2: it is no observation: "yesterday" is no moment like 2026-11-29T13:45:01Z at column 417
    bytes: line 2: it is no observation: invalid unicode code point at column 10
    huge: line 2: it has 100000 bytes, and no observation is so long
    "#);
}
