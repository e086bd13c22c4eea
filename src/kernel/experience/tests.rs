use std::time::Duration;

use super::*;

fn observation(origin: Move) -> Observation {
    Observation {
        run: "20261129-134501-softmax-3f2a".into(),
        candidate: CandidateId::of("x = 1\n"),
        target: "softmax".into(),
        operator: "reduction+exponential/f16:2".into(),
        arch: "sm_90".into(),
        triton: "3.6.0".into(),
        origin,
        parent_speedup: Some(1.0),
        speedup: Some(1.3),
        gain: Some(1.3),
        headroom_closed: None,
        failure: None,
        repaired: false,
        recorded: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_959_901_250),
    }
}

fn recipe(text: &str) -> Observation {
    observation(Move::Recipe { text: text.into() })
}

fn with_gain(gain: f64) -> Observation {
    Observation { gain: Some(gain), ..recipe("warps 8") }
}

#[test]
fn recipes_are_counted_by_their_verbs_and_rewrites_by_their_task() {
    for (text, step) in [
        ("tile BLOCK=512", "recipe tile"),
        ("warps 8; tile BLOCK=512 ROWS=2", "recipe tile+warps"),
        ("tile A=1; tile B=2\nwarps 4;", "recipe tile+warps"),
    ] {
        assert_eq!(recipe(text).step(), step);
    }
    let rewrite = Move::Rewrite { task: "split-reduction".into(), repairs: 2 };
    assert_eq!(observation(rewrite).step(), "split-reduction");
}

#[test]
fn a_gain_counts_from_five_percent_and_a_loss_from_twenty() {
    let success = [1.3, 1.05, 1.049, 0.9].map(|gain| with_gain(gain).success());
    assert_eq!(success, [Some(1.3), Some(1.05), None, None]);
    let warned = [1.0, 0.84, 0.8].map(|gain| with_gain(gain).slowdown().is_some());
    assert_eq!(warned, [false, false, true]);
    let failure = Failure { gate: Gate::Correctness, reason: "differs".into() };
    let wrong = Observation { failure: Some(failure), ..with_gain(3.0) };
    assert_eq!((wrong.success(), wrong.slowdown()), (None, None), "a wrong answer has no speed");
}

#[test]
fn a_rewrite_that_was_sent_back_is_one_try_with_its_repair() {
    assert!(recipe("warps 8").is_try());
    assert!(!Observation { repaired: true, ..recipe("warps 8") }.is_try());
    assert!(!Observation { gain: None, ..recipe("warps 8") }.is_try(), "nothing to compare with");
}

#[test]
fn it_is_kept_as_readable_json() {
    let written = serde_json::to_string_pretty(&recipe("warps 8")).unwrap();
    insta::assert_snapshot!(written, @r#"
    {
      "run": "20261129-134501-softmax-3f2a",
      "candidate": "9e26bf369911c45c",
      "target": "softmax",
      "operator": "reduction+exponential/f16:2",
      "arch": "sm_90",
      "triton": "3.6.0",
      "move": {
        "kind": "recipe",
        "text": "warps 8"
      },
      "parent_speedup": 1.0,
      "speedup": 1.3,
      "gain": 1.3,
      "recorded": "2026-11-29T13:45:01.250Z"
    }
    "#);
    assert_eq!(serde_json::from_str::<Observation>(&written).unwrap(), recipe("warps 8"));
}

#[test]
fn what_this_program_would_not_record_is_refused() {
    let failure = |reason: &str| Failure { gate: Gate::Build, reason: reason.into() };
    let good = || recipe("warps 8");
    assert_eq!(good().check(), Ok(()));
    let refused = [
        Observation { run: "  ".into(), ..good() },
        Observation { target: "a\u{1b}[31mb".into(), ..good() },
        Observation { operator: "two words".into(), ..good() },
        Observation { arch: "sm_90a".into(), ..good() },
        Observation { arch: "h200".into(), ..good() },
        Observation { gain: Some(f64::NAN), ..good() },
        Observation { speedup: Some(0.0), ..good() },
        Observation { headroom_closed: Some(9.0), ..good() },
        Observation { speedup: None, ..good() },
        Observation { failure: Some(failure("")), ..good() },
        Observation { failure: Some(failure(&"x".repeat(4001))), ..good() },
        recipe("warps 8\nwarps 4"),
        recipe(" ; "),
        observation(Move::Baseline),
    ];
    let said = refused.map(|it| it.check().unwrap_err().to_string()).join("\n");
    insta::assert_snapshot!(said, @r#"
    run is empty
    target has control characters in it
    operator "two words" has blanks in it
    arch "sm_90a" is neither cpu nor like sm_90
    arch "h200" is neither cpu nor like sm_90
    gain is not a positive number
    speedup is not a positive number
    headroom_closed is no share
    it has neither a speedup nor a failure
    reason is empty
    reason has more than 4000 characters
    recipe has control characters in it
    recipe has no verb
    the baseline is no move
    "#);
}
