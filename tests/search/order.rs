//! The same evaluations give the same decisions, in whatever order they end.

use proptest::prelude::*;

use kernelbrain::kernel::Event;

use crate::run::{Ran, Run};

fn run(window: usize, seed: u64, shuffle: Option<u64>, lab_window: usize) -> Ran {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let run = Run::new(24, 3, 4, window).with(|run| {
        run.plan.generation.max_candidates = 60;
        run.lab.nature.seed = seed;
        run.lab.shuffle = shuffle;
        run.lab.window = lab_window;
    });
    runtime.expect("a runtime").block_on(run.go())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn completion_order_does_not_matter(
        window in 1_usize..12,
        seed in 0_u64..1000,
        shuffle in any::<u64>(),
    ) {
        let orderly = run(window, seed, None, window);
        let shuffled = run(window, seed, Some(shuffle), window);
        prop_assert_eq!(orderly.candidates(), shuffled.candidates());
        prop_assert_eq!(orderly.submissions(), shuffled.submissions());
        prop_assert_eq!(orderly.decisions(), shuffled.decisions());
        prop_assert_eq!(orderly.reason(), shuffled.reason());
    }

    #[test]
    fn neither_does_a_plane_with_less_room_than_was_planned(
        window in 2_usize..12,
        seed in 0_u64..1000,
    ) {
        let planned = run(window, seed, None, window);
        let narrow = run(window, seed, None, 1);
        prop_assert_eq!(planned.decisions(), narrow.decisions());
        prop_assert_eq!(planned.reason(), narrow.reason());
        prop_assert_eq!(narrow.lab.most_at_once, 1);
        prop_assert!(planned.lab.most_at_once <= window);
    }
}

/// A run in which the second candidate ends only when nothing else is left to end.
async fn started_beside_a_straggler(overtaken_by: Option<usize>) -> Ran {
    let slow = Run::new(40, 0, 1, 8).go().await.candidates()[1].clone();
    Run::new(40, 0, 1, 8)
        .with(|run| {
            run.plan.overtaken_by = overtaken_by;
            run.lab.straggler = Some(slow);
        })
        .go()
        .await
}

/// Results that were settled before that candidate's.
fn settled_before(ran: &Ran) -> usize {
    let slow = ran.state.records()[1].candidate().id.clone();
    ran.events
        .iter()
        .filter(|event| matches!(event, Event::Settled { .. }))
        .position(|event| matches!(event, Event::Settled { candidate, .. } if *candidate == slow))
        .expect("it was settled")
}

#[tokio::test]
async fn a_straggler_is_waited_for_unless_it_may_be_overtaken() {
    let patient = started_beside_a_straggler(None).await;
    assert_eq!(settled_before(&patient), 1, "the first candidate alone is before it");
    let overtaking = started_beside_a_straggler(Some(4)).await;
    assert!(settled_before(&overtaking) >= 40, "{}", settled_before(&overtaking));
    // Nothing is lost by it, and the journal tells the same story once more.
    assert_eq!(overtaking.lab.started.len(), patient.lab.started.len());
    let again = Run::new(40, 0, 1, 8).with(|run| run.plan.overtaken_by = Some(4));
    let again = again.go_on(overtaking.events.clone(), None).await;
    assert_eq!(again.reason(), overtaking.reason());
}

#[tokio::test]
async fn fewer_than_the_plan_names_overtake_nobody() {
    // Seven others have room beside it.
    let ran = started_beside_a_straggler(Some(8)).await;
    assert_eq!(settled_before(&ran), 1);
}

#[tokio::test]
async fn the_window_is_used() {
    let ran = Run::new(40, 0, 1, 8).go().await;
    assert_eq!(ran.lab.most_at_once, 8);
}
