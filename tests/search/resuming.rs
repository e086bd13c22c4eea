//! Killed at any moment, a run goes on as if nothing had happened.

use std::collections::HashMap;

use kernelbrain::{
    kernel::Candidate,
    search::{Event, Search, Standing},
};

use crate::{
    run::{Ran, Run},
    world::BASELINE,
};

fn run() -> Run {
    Run::new(14, 2, 3, 4).with(|run| {
        run.plan.generation.max_candidates = 26;
        run.lab.shuffle = Some(3);
        run.lab.nature.refuted = vec!["seed 6".to_owned()];
    })
}

fn assert_same(resumed: &Ran, undisturbed: &Ran, killed_at: usize) {
    assert_eq!(resumed.candidates(), undisturbed.candidates(), "killed at {killed_at}");
    assert_eq!(resumed.decisions(), undisturbed.decisions(), "killed at {killed_at}");
    assert_eq!(resumed.winner(), undisturbed.winner(), "killed at {killed_at}");
    assert_eq!(resumed.funnel(), undisturbed.funnel(), "killed at {killed_at}");
}

/// No pair of candidate and rung has two evaluations in the journal.
fn assert_evaluated_once(events: &[Event]) {
    let mut count: HashMap<_, usize> = HashMap::new();
    for event in events {
        if let Event::Evaluated { evaluation, .. } = event {
            *count.entry((evaluation.candidate.clone(), evaluation.rung)).or_default() += 1;
        }
    }
    assert!(count.values().all(|count| *count == 1), "{count:?}");
}

#[tokio::test]
async fn killed_before_every_append() {
    let undisturbed = run().go().await;
    assert_eq!(undisturbed.lab.verified[0], "seed 6", "the first verification fails");
    for appends in 1.. {
        let killed = run().with(|run| run.journal.dies_after = Some(appends)).go().await;
        if killed.outcome.is_ok() {
            assert!(appends > 100, "{appends} appends");
            break;
        }
        assert!(undisturbed.events.starts_with(&killed.events));
        let resumed = run().go_on(killed.events, None).await;
        assert_same(&resumed, &undisturbed, appends);
        assert_evaluated_once(&resumed.events);
    }
}

#[tokio::test]
async fn cut_off_after_every_event() {
    // Worse than a journal may be, which keeps all of an append or nothing: the order of what was
    // cut in two may change, but nothing is lost, repeated or left undecided.
    let undisturbed = run().go().await;
    for kept in 1..undisturbed.events.len() {
        let resumed = run().go_on(undisturbed.events[..kept].to_vec(), None).await;
        assert!(resumed.outcome.is_ok(), "cut off after {kept}");
        assert_evaluated_once(&resumed.events);
        assert_eq!(resumed.candidates().len(), undisturbed.candidates().len());
        assert_eq!(resumed.winner(), undisturbed.winner(), "cut off after {kept}");
    }
}

#[tokio::test]
async fn killed_again_and_again() {
    let undisturbed = run().go().await;
    let mut events = Vec::new();
    let mut sessions = 0;
    let last = loop {
        sessions += 1;
        assert!(sessions < 1000, "no progress");
        let ran = run().with(|run| run.journal.dies_after = Some(5)).go_on(events, None).await;
        if ran.outcome.is_ok() {
            break ran;
        }
        events = ran.events;
    };
    assert!(sessions > 20, "{sessions} sessions");
    assert_same(&last, &undisturbed, 0);
    assert_evaluated_once(&last.events);
}

#[tokio::test]
async fn only_what_was_under_way_is_evaluated_again() {
    let killed = run().with(|run| run.journal.dies_after = Some(60)).go().await;
    let ended = |events: &[Event]| {
        events.iter().filter(|event| matches!(event, Event::Evaluated { .. })).count()
    };
    let before = ended(&killed.events);
    let resumed = run().go_on(killed.events, None).await;
    assert_eq!(resumed.lab.started.len(), ended(&resumed.events) - before);
}

#[tokio::test]
async fn seconds_lost_in_a_kill_stay_spent() {
    let undisturbed = run().go().await;
    let killed = run().with(|run| run.journal.dies_after = Some(60)).go().await;
    assert!(killed.state.under_way() > 0);
    let resumed = run().go_on(killed.events, None).await;
    let (lossy, lossless) = (resumed.state.spend(), undisturbed.state.spend());
    assert!(lossy.gpu_seconds > lossless.gpu_seconds + 0.01, "{lossy:?} {lossless:?}");
    assert_eq!(lossy.evaluations, lossless.evaluations, "repeated, but not counted twice");
}

#[tokio::test]
async fn a_finished_run_stays_finished() {
    let finished = run().go().await;
    let again = run().go_on(finished.events.clone(), None).await;
    assert_eq!(again.outcome(), finished.outcome());
    assert_eq!(again.events, finished.events);
    assert!(again.lab.started.is_empty());
}

#[tokio::test]
async fn the_state_is_the_fold_of_the_events() {
    let ran = run().go().await;
    let search =
        Search::resume(ran.state.plan().clone(), Candidate::baseline(BASELINE), &ran.events, None)
            .expect("its own journal fits");
    assert_eq!(format!("{:?}", search.state().records()), format!("{:?}", ran.state.records()));
    assert_eq!(search.state().spend(), ran.state.spend());
    assert_eq!(search.state().trajectory(), ran.state.trajectory());
}

#[tokio::test]
async fn a_journal_of_another_run_is_refused() {
    let mut events = run().go().await.events;
    events.remove(3);
    let error = Search::resume(run().plan, Candidate::baseline(BASELINE), &events, None)
        .expect_err("a candidate is missing");
    assert!(error.to_string().contains("does not fit what came before"), "{error}");
}

#[tokio::test]
async fn on_another_gpu_the_baseline_and_the_promoted_are_measured_anew() {
    let killed = run().with(|run| run.journal.dies_after = Some(110)).go().await;
    let promoted: Vec<_> = killed
        .state
        .records()
        .iter()
        .filter(|record| {
            let decided = killed.events.iter().any(|event| matches!(
                event,
                Event::Decided { candidate, decision: kernelbrain::search::Decision::Promote { .. }, .. }
                    if *candidate == record.candidate().id
            ));
            decided && record.gate().is_none()
        })
        .map(|record| record.candidate().source.to_string())
        .collect();
    let rejected: Vec<_> = killed
        .state
        .records()
        .iter()
        .filter(|record| record.gate().is_some())
        .map(|record| record.candidate().source.to_string())
        .collect();
    assert!(!promoted.is_empty() && !rejected.is_empty());

    let resumed = run().go_on(killed.events, Some("the GPU is another one")).await;
    let started = |source: &str| resumed.lab.started.iter().any(|(s, _)| s == source);
    assert!(started(BASELINE));
    assert!(promoted.iter().all(|source| started(source)));
    assert!(!rejected.iter().any(|source| started(source)), "rejected stays rejected");
    assert_eq!(resumed.state.resets(), ["the GPU is another one"]);
    assert!(!resumed.winner().is_empty());
    assert!(resumed.state.records().iter().all(|record| {
        !matches!(record.standing(), Standing::Queued { .. } | Standing::Evaluating { .. })
    }));
}

#[tokio::test]
async fn killed_while_it_measures_anew() {
    let killed = run().with(|run| run.journal.dies_after = Some(110)).go().await;
    let moved = Some("the driver is another one");
    let undisturbed = run().go_on(killed.events.clone(), moved).await;
    for appends in 1.. {
        let again = run()
            .with(|run| run.journal.dies_after = Some(appends))
            .go_on(killed.events.clone(), moved)
            .await;
        if again.outcome.is_ok() {
            assert!(appends > 20, "{appends} appends");
            break;
        }
        let resumed = run().go_on(again.events, None).await;
        assert_same(&resumed, &undisturbed, appends);
        assert_eq!(resumed.state.resets().len(), 1);
    }
}
