//! A run that is stopped, and goes on.

use std::collections::BTreeSet;

use rand::{Rng, SeedableRng};
use serde_json::Value;

use crate::support::Desk;

const KILLS: usize = 5;

/// Each pair of candidate and rung that the journal says was evaluated.
fn evaluated(desk: &Desk) -> Vec<(String, u64)> {
    let events = desk.events("evaluated");
    let pair = |event: &Value| {
        let evaluation = &event["evaluation"];
        let id = evaluation["candidate"].as_str().unwrap().to_owned();
        (id, evaluation["rung"].as_u64().unwrap())
    };
    events.iter().map(pair).collect()
}

/// Seconds of wall clock that the journal accounts for.
fn accounted(desk: &Desk) -> f64 {
    let spent = |kind: &str, path: &str| -> f64 {
        let events = desk.events(kind);
        events.iter().filter_map(|event| event.pointer(path)?.as_f64()).sum()
    };
    spent("ticked", "/wall_seconds")
        + spent("evaluated", "/spent/wall_seconds")
        + spent("verified", "/spent/wall_seconds")
}

#[test]
fn killed_again_and_again_it_ends_as_if_nothing_had_happened() {
    let desk = Desk::softmax();
    let search = ["--budget", "300s", "--max-candidates", "10", "--seeds", "8"];
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let mut run = None;
    let (mut before, mut seconds) = (Vec::new(), 0.0);
    for _ in 0..KILLS {
        let mut running = desk.start(desk.optimize(&search));
        match &run {
            None => drop(running.until("baseline: ")),
            Some(id) => drop(running.until(&format!("going on with run {id}")).until(" on ")),
        }
        std::thread::sleep(std::time::Duration::from_millis(rng.random_range(0..3000)));
        assert!(!running.is_over(), "over before it was killed: {}", running.heard());
        let killed = running.kill();
        let id = killed.stderr.lines().find_map(|line| line.strip_prefix("run "));
        run = run.or(id.map(str::to_owned));

        // What was there is there, and the clock did not go back.
        let now = evaluated(&desk);
        assert_eq!(now[..before.len()], before);
        assert!(accounted(&desk) >= seconds);
        (before, seconds) = (now, accounted(&desk));
    }
    let ran = desk.run(desk.optimize(&search));
    ran.exits_with(0);

    let all = evaluated(&desk);
    let once: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!(once.len(), all.len(), "a finished evaluation was repeated: {all:?}");
    assert_eq!(desk.events("baseline_measured").len(), 1);
    assert!(desk.events("resumed").len() <= KILLS);
    let report = desk.report();
    assert_eq!(report["run"]["id"], run.unwrap());
    assert!(["improved", "no_improvement"].contains(&report["outcome"].as_str().unwrap()));
    let budget = &report["budget"];
    assert!(budget["wall_seconds_spent"].as_f64().unwrap() >= seconds);
    let debited = desk.events("debited").len() - desk.events("verified").len();
    assert!(budget["evaluations_spent"].as_u64().unwrap() >= all.len() as u64);
    assert!(debited >= all.len());
}

#[test]
fn ctrl_c_stops_tidily_and_the_same_command_goes_on() {
    let desk = Desk::softmax();
    let search = ["--budget", "300s", "--max-candidates", "6"];
    let mut running = desk.start(desk.optimize(&search));
    running.until("baseline: ").ctrl_c();
    let stopped = running.end();
    stopped.exits_with(130).says("stopping; the state is kept");
    assert!(!desk.path("out/report.json").exists());
    let leftovers: Vec<_> = std::fs::read_dir(desk.path("tmp")).unwrap().collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
    let id = stopped.stderr.lines().find_map(|line| line.strip_prefix("run ")).unwrap();
    desk.run(desk.kernelbrain(&["runs"])).exits_with(0).says(id).says("open");

    let before = evaluated(&desk);
    let ran = desk.run(desk.optimize(&[&search[..], &["--resume", id]].concat()));
    ran.exits_with(0).says(&format!("going on with run {id}"));
    let all = evaluated(&desk);
    assert_eq!(all[..before.len()], before);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}

#[test]
fn a_run_that_goes_on_may_be_given_other_limits() {
    let desk = Desk::tiny();
    let mut running = desk.start(desk.optimize(&["--budget", "300s", "--seeds", "40"]));
    running.until("baseline: ").ctrl_c();
    let stopped = running.end();
    stopped.exits_with(130);
    let id = stopped.stderr.lines().find_map(|line| line.strip_prefix("run ")).unwrap();

    let resume = |limits: &[&str]| {
        let all = [&["--resume", id, "--budget", "200s"], limits].concat();
        desk.run(desk.optimize(&all))
    };
    let refused = resume(&["--model", "command:true", "--rewrites", "3"]);
    refused.exits_with(2).says("was begun without a language model");
    assert!(desk.events("limits_changed").is_empty(), "nothing has changed");

    let words = "the run was given other limits: wall clock 200 s (before: 300 s), evaluations 9 \
                 (before: without limit)";
    resume(&["--evaluations", "9"]).exits_with(0).says(words);
    let report = desk.report();
    let budget = &report["budget"];
    assert_eq!(
        (&budget["wall_seconds_limit"], &budget["evaluations_limit"]),
        (&200.0.into(), &9.into())
    );
    assert!(budget["evaluations_spent"].as_u64().unwrap() <= 9, "{budget}");
    assert!(report["warnings"].to_string().contains(words), "{}", report["warnings"]);
}

#[test]
fn ctrl_c_while_python_starts_is_no_different() {
    let desk = Desk::tiny();
    let mut running = desk.start(desk.optimize(&["--budget", "60s"]));
    running.until_true("a scratch folder", |_| {
        std::fs::read_dir(desk.path("tmp")).unwrap().next().is_some()
    });
    running.ctrl_c();
    running.end().exits_with(130).says("stopping");
    desk.run(desk.kernelbrain(&["runs"])).exits_with(0).says("no runs yet");
}

#[test]
fn ctrl_c_twice_stops_at_once() {
    // The baseline's call does not end, so that there is something to be stopped in.
    let desk = Desk::tiny_with("import time", "time.sleep(600)");
    let mut running =
        desk.start(desk.optimize(&["--budget", "300s", "--candidate-timeout", "300s"]));
    running.until("\nrun ");
    std::thread::sleep(std::time::Duration::from_secs(1));
    running.ctrl_c();
    if !running.is_over() {
        running.ctrl_c();
    }
    running.end().exits_with(130).says("stopping");
}
