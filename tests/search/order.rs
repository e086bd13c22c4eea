//! The same evaluations give the same decisions, in whatever order they end.

use proptest::prelude::*;

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

#[tokio::test]
async fn the_window_is_used() {
    let ran = Run::new(40, 0, 1, 8).go().await;
    assert_eq!(ran.lab.most_at_once, 8);
}
