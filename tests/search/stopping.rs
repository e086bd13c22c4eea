//! A search that has nothing left to gain ends before its budget does, and says why.

use kernelbrain::{
    kernel::{Case, CaseMeasurement, Evaluation},
    search::{Event, Outcome, Plan, PlanError, Standing, StopRules, Stopped, headroom},
};

use crate::{run::Run, world::cases};

/// Bounds at this share of what the baseline takes.
fn bounds(plan: &Plan, share: f64) -> Vec<Option<f64>> {
    (0..plan.cases.len()).map(|index| Some(1000.0 * (index + 1) as f64 * share)).collect()
}

#[tokio::test]
async fn a_best_near_the_limit_ends_the_search() {
    let whole = Run::new(60, 6, 3, 4).go().await;
    let stopped = Run::new(60, 6, 3, 4)
        .with(|run| {
            // The best that there is runs at some 2.4 times the baseline's speed.
            run.plan.bounds_us = bounds(&run.plan, 1.0 / 2.5);
            run.plan.stop.headroom = Some(1.5);
        })
        .go()
        .await;
    assert!(stopped.submissions().len() < whole.submissions().len());
    let Some(Stopped::NearLimit { headroom, at_most, baseline: false }) = stopped.state.stopped()
    else {
        panic!("{:?}", stopped.state.stopped())
    };
    assert!((0.9..=at_most).contains(&headroom), "{headroom}");
    assert!(matches!(stopped.outcome(), Outcome::Improved { .. }), "{:?}", stopped.outcome);
    assert_eq!(stopped.state.under_way(), 0, "what was under way was settled");
}

#[tokio::test]
async fn a_baseline_at_the_limit_needs_no_search() {
    let ran = Run::new(60, 6, 3, 4)
        .with(|run| {
            run.plan.bounds_us = bounds(&run.plan, 1.0 / 1.02);
            run.plan.stop.headroom = Some(1.05);
        })
        .go()
        .await;
    assert_eq!(ran.lab.started.len(), 1, "the baseline only");
    assert_eq!(
        ran.reason(),
        "the search stopped because the baseline already runs at 1.021 times its speed-of-light \
         bound (--headroom-stop 1.05)"
    );
}

#[tokio::test]
async fn a_bound_that_the_baseline_breaks_stops_nothing() {
    let ran = Run::new(30, 2, 3, 4)
        .with(|run| {
            // A contract whose bytes are wrong by a hundred.
            run.plan.bounds_us = bounds(&run.plan, 100.0);
            run.plan.stop.headroom = Some(1.05);
        })
        .go()
        .await;
    assert_eq!(ran.state.stopped(), None);
    assert!(matches!(ran.outcome(), Outcome::Improved { .. }));
}

#[tokio::test]
async fn patience_ends_the_search_and_lets_the_promoted_finish() {
    let ran = Run::new(200, 0, 2, 1).with(|run| run.plan.stop.patience = Some(25)).go().await;
    assert_eq!(ran.state.stopped(), Some(Stopped::NoProgress { results: 25 }));
    assert!(ran.state.queued(0) > 0, "not everything was tried");
    assert_eq!(ran.state.queued(1) + ran.state.queued(2), 0);
    let abandoned = ran.state.records().iter().any(|record| {
        matches!(record.standing(), Standing::Pruned { reason, .. } if reason.contains("stopped before"))
    });
    assert!(!abandoned, "whoever was promoted by then was evaluated");
    assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "{:?}", ran.outcome);
}

#[tokio::test]
async fn the_reason_is_told_where_nothing_was_found() {
    let ran = Run::new(200, 0, 2, 1)
        .with(|run| {
            run.plan.stop.patience = Some(10);
            run.lab.nature.gain = (-0.9, -0.1);
        })
        .go()
        .await;
    let reason = ran.reason();
    assert!(
        reason.ends_with(
            "; the search stopped because 10 results in a row brought no new best (--patience 10)"
        ),
        "{reason}"
    );
}

#[tokio::test]
async fn a_stopped_search_stays_stopped_when_it_is_resumed() {
    let rules = |run: &mut Run| run.plan.stop.patience = Some(25);
    let whole = Run::new(200, 0, 2, 1).with(rules).go().await;
    let settled = |event: &Event| matches!(event, Event::Settled { .. });
    let last = whole.events.iter().rposition(settled).expect("something was settled");
    let events = whole.events[..=last].to_vec();
    let resumed = Run::new(200, 0, 2, 1).with(rules).go_on(events, None).await;
    assert_eq!(resumed.state.stopped(), whole.state.stopped());
    assert_eq!(resumed.outcome(), whole.outcome());
    assert_eq!(resumed.submissions(), whole.submissions());
}

#[tokio::test]
async fn what_the_evaluator_warns_of_is_in_the_journal() {
    let words = "case 0: the baseline takes 1 µs, although 400 GB must move";
    let ran = Run::new(10, 0, 2, 1).with(|run| run.lab.warnings = vec![words.into()]).go().await;
    assert_eq!(ran.state.warnings(), [words]);
    assert!(ran.events.contains(&Event::Warned { text: words.into() }));
}

#[test]
fn rules_that_cannot_be_kept_are_refused() {
    let with = |stop| Plan { stop, ..Plan::new(cases(1), 1) }.validate();
    let rules = |headroom, patience| StopRules { headroom, patience };
    assert_eq!(with(rules(Some(0.9), None)), Err(PlanError::Headroom(0.9)));
    assert!(with(rules(Some(f64::NAN), None)).is_err());
    assert_eq!(with(rules(None, Some(0))), Err(PlanError::Patience));
    assert_eq!(with(rules(Some(1.0), Some(1))), Ok(()));
}

#[test]
fn headroom_is_the_weighted_mean_over_cases_that_all_have_a_bound() {
    let mut cases: Vec<Case> = cases(2);
    cases[1].weight = 3.0;
    let measured = |latencies: [f64; 2]| {
        let mut evaluation: Evaluation = serde_json::from_value(serde_json::json!({
            "candidate": "0123456789abcdef", "rung": 2, "verdict": "accepted",
        }))
        .expect("an evaluation");
        let case = |(at, latency_us): (usize, f64)| CaseMeasurement {
            baseline_us: None,
            case: cases[at].name.clone(),
            latency_us,
            host_us: None,
            backward_us: None,
            error: None,
        };
        evaluation.cases = latencies.into_iter().enumerate().map(case).collect();
        evaluation
    };
    let bounds = [Some(100.0), Some(10.0)];
    let mean = headroom(&measured([200.0, 10.0]), &cases, &bounds).expect("a headroom");
    assert!((mean - 2.0_f64.powf(0.25)).abs() < 1e-12, "{mean}");
    assert_eq!(headroom(&measured([200.0, 10.0]), &cases, &[Some(100.0), None]), None);
    assert_eq!(headroom(&measured([20.0, 10.0]), &cases, &bounds), None, "no bound at all");
}
