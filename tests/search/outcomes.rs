//! How a run can end.

use kernelbrain::search::{Event, Outcome, SearchError, Standing, Stop};

use crate::run::Run;

#[tokio::test]
async fn improved_means_verified() {
    let ran = Run::new(30, 2, 3, 4).go().await;
    let winner = ran.winner();
    assert_eq!(ran.lab.verified, std::slice::from_ref(&winner));
    let standing = ran.state.records().iter().find(|r| *r.candidate().source == *winner);
    assert_eq!(standing.map(|record| record.standing()), Some(&Standing::Winner));
    assert!(matches!(ran.events.last(), Some(Event::Ended { .. })));
}

#[tokio::test]
async fn a_refuted_survivor_makes_way_for_the_next() {
    let first = Run::new(40, 0, 3, 4).go().await.winner();
    let refuted = vec![first.clone()];
    let ran = Run::new(40, 0, 3, 4).with(|run| run.lab.nature.refuted = refuted).go().await;
    assert_eq!(ran.lab.verified, [first, ran.winner()]);
    let gains: Vec<f64> = ran
        .state
        .verifications()
        .iter()
        .filter_map(|verification| ran.measured_gain(&verification.candidate))
        .collect();
    assert!(gains[0] > gains[1], "in the order of what was measured: {gains:?}");
    let first = ran.state.record(&ran.state.verifications()[0].candidate).expect("known");
    assert!(matches!(first.standing(), Standing::Refuted { .. }));
}

#[tokio::test]
async fn nobody_is_verified_without_end() {
    let ran = Run::new(200, 0, 3, 4)
        .with(|run| {
            run.lab.nature.all_refuted = true;
            run.plan.max_verifications = 3;
        })
        .go()
        .await;
    assert_eq!(ran.lab.verified.len(), 3);
    assert_eq!(
        ran.reason(),
        "none of the 3 best candidates passed verification; last: performance: 1.01x is within \
         the noise"
    );
}

#[tokio::test]
async fn a_baseline_that_fails_its_contract_fails_the_run() {
    let ran = Run::new(30, 0, 3, 4).with(|run| run.lab.nature.broken_baseline = true).go().await;
    assert_eq!(
        ran.reason(),
        "the baseline fails its own contract: correctness: differs from the reference by 3.2"
    );
    assert!(matches!(ran.outcome(), Outcome::Failed { .. }));
    assert_eq!(ran.lab.started.len(), 1, "nothing else was tried");
}

#[tokio::test]
async fn when_all_are_rejected_the_reason_names_the_commonest_gate() {
    let ran = Run::new(30, 0, 3, 4).with(|run| run.lab.nature.rejected[0] = 1.0).go().await;
    let reason = ran.reason();
    assert!(
        reason.starts_with(
            "every one of 30 evaluated candidates was rejected, most often by the correctness gate"
        ),
        "{reason}"
    );
}

#[tokio::test]
async fn when_none_is_faster_the_reason_names_the_best() {
    let ran = Run::new(30, 0, 3, 4).with(|run| run.lab.nature.gain = (-0.9, -0.3)).go().await;
    let reason = ran.reason();
    assert!(
        reason.starts_with("no candidate was faster than the baseline beyond noise"),
        "{reason}"
    );
    assert!(ran.lab.verified.is_empty(), "what measured slower is not verified");
}

#[tokio::test]
async fn when_no_move_applies_the_reason_says_so() {
    let ran = Run::new(0, 0, 3, 4).go().await;
    assert_eq!(ran.reason(), "no move gave a candidate that differs from the baseline");
}

#[tokio::test]
async fn those_behind_get_a_chance_when_the_best_break_on_the_way_up() {
    let ran = Run::new(12, 0, 3, 2)
        .with(|run| {
            run.lab.nature.gain = (0.2, 0.9);
            run.lab.nature.rejected = vec![0.0, 0.8, 0.0];
            run.lab.nature.seed = 3;
        })
        .go()
        .await;
    let tally = ran.state.tallies().next().expect("rung 0");
    assert!(tally.promoted > 4, "more than a third of 12 went up: {tally:?}");
    assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "{}", ran.reason());
}

#[tokio::test]
async fn a_move_that_gives_a_known_source_is_counted_and_not_evaluated_again() {
    // Children are asked for at every promotion and the same ones are proposed each time.
    let ran = Run::new(20, 3, 3, 4).go().await;
    assert!(ran.state.discarded() > 0);
    assert!(ran.events.iter().any(|event| matches!(
        event,
        Event::MoveDiscarded { reason, .. } if reason.starts_with("the same source as candidate")
    )));
    let mut started = ran.lab.started.clone();
    started.sort();
    let all = started.len();
    started.dedup();
    assert_eq!(started.len(), all, "no pair of source and rung twice");
}

#[tokio::test]
async fn no_more_candidates_than_the_run_may_have() {
    let ran = Run::new(20, 8, 3, 4).with(|run| run.plan.generation.max_candidates = 33).go().await;
    assert_eq!(ran.state.records().len(), 33);
}

#[tokio::test]
async fn awaited_answers_park_the_run_and_it_goes_on_when_they_are_there() {
    let ran = Run::new(30, 0, 3, 4).with(|run| run.moves.awaited = true).go().await;
    assert!(matches!(ran.outcome(), Outcome::Parked { .. }));
    assert_eq!(ran.reason(), "nothing left to do until 1 request for candidates is answered");
    let later = Run::new(30, 0, 3, 4).go_on(ran.events, None).await;
    let at_once = Run::new(30, 0, 3, 4).go().await;
    assert_eq!(later.winner(), at_once.winner());
}

#[tokio::test]
async fn slow_answers_are_waited_for() {
    let ran = Run::new(12, 2, 3, 4).with(|run| run.moves.slow = 2).go().await;
    assert!(matches!(ran.outcome(), Outcome::Improved { .. }));
    assert!(ran.state.records().len() > 12, "children came too");
}

#[tokio::test]
async fn an_interrupt_begins_nothing_new_and_keeps_the_state() {
    let (switch, stop) = Stop::new();
    let settled = |event: &Event| matches!(event, Event::Settled { .. });
    let mut left = 10;
    let ran = Run::new(30, 2, 3, 4)
        .with(|run| run.stop = stop)
        .watched(Vec::new(), None, |_, event| {
            left -= usize::from(settled(event) && left > 0);
            if left == 0 {
                switch.stop();
            }
        })
        .await;
    assert!(matches!(ran.outcome, Err(SearchError::Interrupted)));
    assert_eq!(ran.events.iter().filter(|event| settled(event)).count(), 10);
    assert!(ran.state.under_way() > 0, "what was under way stays debited");
    let later = Run::new(30, 2, 3, 4).go_on(ran.events, None).await;
    let undisturbed = Run::new(30, 2, 3, 4).go().await;
    assert_eq!(later.winner(), undisturbed.winner());
    assert_eq!(later.decisions(), undisturbed.decisions());
}

#[tokio::test]
async fn an_interrupt_does_not_wait_for_an_evaluation() {
    let (switch, stop) = Stop::new();
    let ran = Run::new(30, 2, 3, 4)
        .with(|run| {
            run.stop = stop;
            run.lab.hangs = true;
        })
        .watched(Vec::new(), None, |_, _| switch.stop())
        .await;
    assert!(matches!(ran.outcome, Err(SearchError::Interrupted)));
}

#[tokio::test]
async fn when_those_that_went_up_are_rejected_there_the_reason_says_so() {
    let ran = Run::new(60, 0, 3, 4).with(|run| run.lab.nature.rejected[1] = 1.0).go().await;
    assert_eq!(
        ran.reason(),
        "no candidate that was faster than the baseline on rung 0 was accepted on the rungs above \
         it"
    );
}

#[tokio::test]
async fn when_the_plane_breaks_down_the_state_is_kept() {
    let ran = Run::new(30, 2, 3, 4).with(|run| run.lab.breaks_after = Some(9)).go().await;
    let error = ran.outcome.as_ref().expect_err("it broke").to_string();
    assert_eq!(error, "the evaluation plane broke down: the referee does not answer");
    let later = Run::new(30, 2, 3, 4).go_on(ran.events, None).await;
    assert_eq!(later.winner(), Run::new(30, 2, 3, 4).go().await.winner());
}

#[test]
fn a_search_can_run_on_any_thread() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&Run::new(1, 0, 1, 1).go());
}

#[tokio::test]
async fn whoever_stood_behind_a_refuted_survivor_is_measured_and_verified() {
    let run = || Run::new(6, 0, 3, 4).with(|run| run.lab.nature.gain = (0.1, 0.9));
    let undisturbed = run().go().await;
    let winner = undisturbed.winner().to_owned();
    let refuted = vec![winner.clone()];
    assert_eq!(undisturbed.funnel()[2].0, 1, "nobody else got to the top");
    let ran = run().with(|run| run.lab.nature.refuted = refuted).go().await;
    assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "{}", ran.reason());
    assert_ne!(ran.winner(), winner);
    assert_eq!(ran.lab.verified.len(), 2, "{:?}", ran.lab.verified);
}
