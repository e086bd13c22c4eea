//! What may be spent is not exceeded, and enough is left for the last word.

use kernelbrain::search::{Event, Limit, Outcome, SearchError};

use crate::run::{Ran, Run};

fn wall(seconds: f64) -> impl FnOnce(&mut Run) {
    move |run| run.plan.limits.wall_seconds = Some(seconds)
}

/// The most that was spent at any moment.
fn evaluations(ran: &Ran) -> usize {
    ran.events.iter().filter(|event| matches!(event, Event::Evaluated { .. })).count() + 1
}

#[tokio::test]
async fn evaluations_never_exceed_their_limit() {
    for limit in 1..60 {
        let ran = Run::new(60, 3, 3, 4)
            .with(|run| run.plan.limits.evaluations = Some(limit))
            .watched(Vec::new(), None, |state, _| assert!(state.spend().evaluations <= limit))
            .await;
        assert!(evaluations(&ran) <= limit as usize);
        assert!(ran.outcome.is_ok());
    }
}

#[tokio::test]
async fn a_limit_on_evaluations_still_takes_somebody_to_the_top() {
    for limit in [4, 8, 15, 30, 60] {
        let ran = Run::new(100, 0, 3, 4)
            .with(|run| {
                run.plan.limits.evaluations = Some(limit);
                run.lab.nature.gain = (0.1, 0.9);
                run.lab.nature.rejected = vec![0.0; 3];
            })
            .go()
            .await;
        let (entered, _) = ran.funnel()[2];
        assert!(entered > 0, "limit {limit}: {:?}", ran.funnel());
        assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "limit {limit}");
    }
}

#[tokio::test]
async fn the_wall_clock_leaves_room_for_the_verification() {
    for limit in [15.0, 20.0, 40.0, 80.0] {
        let ran = Run::new(2000, 4, 3, 4).with(wall(limit)).go().await;
        assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "{limit}: {}", ran.reason());
        let spent = ran.state.spend().wall_seconds;
        assert!(spent <= limit, "{spent} of {limit} seconds");
        assert!(ran.state.cut_short() && ran.state.queued(0) > 0);
    }
}

#[tokio::test]
async fn what_is_under_way_is_given_up_before_it_costs_a_survivor_its_verification() {
    let limit = 60.0;
    let run = || {
        Run::new(2000, 4, 3, 14).with(wall(limit)).with(|run| {
            run.lab.serial = true;
            run.lab.nature.seconds = vec![0.1, 1.0, 5.0, 8.0];
            run.lab.nature.rejected = vec![0.0; 3];
        })
    };
    let ran = run().go().await;
    assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "{}", ran.reason());
    assert!(ran.lab.abandoned > 0);
    assert_eq!(ran.state.under_way(), 0);
    assert!(ran.state.cut_short());
    assert!(ran.state.spend().wall_seconds <= limit);

    // Killed right after that, the run does not begin again what was given up.
    let at = ran.events.iter().position(|event| matches!(event, Event::Abandoned));
    let before = ran.events[..=at.expect("it is in the journal")].to_vec();
    let resumed = run().go_on(before, None).await;
    assert_eq!(resumed.outcome(), ran.outcome());
    assert!(resumed.lab.started.is_empty());
}

#[tokio::test]
async fn where_the_top_rung_takes_too_long_whoever_came_nearest_is_verified_in_time() {
    let limit = 100.0;
    let ran = Run::new(200, 0, 3, 28)
        .with(wall(limit))
        .with(|run| {
            run.lab.serial = true;
            run.lab.nature.seconds = vec![0.5, 2.0, 6.0, 10.0];
            run.lab.nature.rejected = vec![0.0; 3];
        })
        .go()
        .await;
    assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "{}", ran.reason());
    assert!(ran.state.spend().wall_seconds <= limit, "{:?}", ran.state.spend());
}

#[tokio::test]
async fn when_the_clock_has_run_out_nothing_is_waited_for() {
    let ran = Run::new(200, 0, 3, 14)
        .with(wall(60.0))
        .with(|run| {
            run.lab.serial = true;
            run.lab.nature.gain = (-0.9, -0.1);
            run.lab.nature.seconds = vec![1.0, 20.0, 20.0, 20.0];
        })
        .go()
        .await;
    assert!(matches!(ran.outcome(), Outcome::NoImprovement { .. }));
    assert!(ran.state.spend().wall_seconds <= 62.0, "{:?}", ran.state.spend());
}

#[tokio::test]
async fn gpu_seconds_too() {
    for limit in [10.0, 20.0, 40.0] {
        let ran = Run::new(2000, 4, 3, 4)
            .with(|run| run.plan.limits.gpu_seconds = Some(limit))
            .watched(Vec::new(), None, |state, _| {
                assert!(state.spend().gpu_seconds <= limit + 1e-9);
            })
            .await;
        assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "{limit}: {}", ran.reason());
    }
}

#[tokio::test]
async fn a_budget_that_no_rung_fits_into_ends_without_a_claim() {
    // The baseline takes 0.25 s of these by the clock; nothing else fits.
    let ran = Run::new(20, 0, 3, 4).with(wall(0.3)).go().await;
    assert_eq!(
        ran.reason(),
        "the budget ended before there was a candidate to evaluate",
        "and none was asked for"
    );
    assert!(ran.lab.verified.is_empty());
}

#[tokio::test]
async fn where_the_budget_reaches_no_upper_rung_the_best_measured_is_verified() {
    let ran = Run::new(50, 0, 3, 4)
        .with(|run| {
            run.lab.nature.gain = (0.3, 0.9);
            run.lab.nature.rejected = vec![0.0; 3];
            run.plan.limits.evaluations = Some(2);
        })
        .go()
        .await;
    assert_eq!(ran.lab.started, [("baseline".to_owned(), 2), ("seed 0".to_owned(), 0)]);
    assert_eq!(ran.winner(), "seed 0");
}

#[tokio::test]
async fn a_baseline_that_never_ends_ends_with_the_budget() {
    let ran = Run::new(20, 0, 3, 4).with(wall(60.0)).with(|run| run.lab.hangs = true).go().await;
    let error = ran.outcome.as_ref().expect_err("it was never measured").to_string();
    assert_eq!(error, "the budget ended before the baseline was measured (wall clock); allow more");
    assert_eq!(ran.state.spend().wall_seconds, 1000.0);
}

#[tokio::test]
async fn no_budget_for_the_baseline_is_an_error_of_its_own() {
    for (change, expected) in [
        (Box::new(wall(0.0)) as Box<dyn FnOnce(&mut Run)>, Limit::WallClock),
        (Box::new(|run| run.plan.limits.gpu_seconds = Some(0.0)), Limit::GpuSeconds),
        (Box::new(|run| run.plan.limits.evaluations = Some(0)), Limit::Evaluations),
    ] {
        let ran = Run::new(20, 0, 3, 4).with(change).go().await;
        match ran.outcome {
            Err(SearchError::BudgetEndedBeforeBaseline { limit }) => assert_eq!(limit, expected),
            other => panic!("{other:?}"),
        }
        assert!(ran.lab.started.is_empty());
    }
}

#[tokio::test]
async fn wall_clock_is_what_the_clock_showed() {
    let run = Run::new(40, 2, 3, 4);
    let clock = run.clock.clone();
    let ran = run.go().await;
    let shown = kernelbrain::search::ports::Clock::seconds(&clock);
    assert!((ran.state.spend().wall_seconds - shown).abs() < 1e-6);
}

#[tokio::test]
async fn budget_spent_in_an_earlier_session_stays_spent() {
    let limited = || Run::new(2000, 0, 3, 4).with(wall(30.0));
    let killed = limited().with(|run| run.journal.dies_after = Some(300)).go().await;
    let before = killed.state.spend().wall_seconds;
    assert!(before > 1.0);
    let resumed = limited().go_on(killed.events, None).await;
    assert!(resumed.state.spend().wall_seconds <= 30.0);
    assert!(matches!(resumed.outcome(), Outcome::Improved { .. }));
    // This session's clock began at zero: it had only what was left.
    assert!(resumed.state.spend().wall_seconds > before);
}
