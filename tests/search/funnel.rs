//! Coarse to fine: few go up, and the best are among them.

use kernelbrain::search::{Event, Outcome, RankPromotion, SchedulerChoice, Standing};

use crate::run::{Ran, Run};

fn quiet(run: &mut Run) {
    run.lab.nature.rejected = vec![0.0; 3];
    run.lab.nature.gain = (0.1, 0.9);
}

#[tokio::test]
async fn twenty_candidates_give_seven_give_three_when_they_are_ranked_at_once() {
    // All twenty under way before the first is settled: nobody is promoted early by luck of order.
    let ran = Run::new(20, 0, 6, 20)
        .with(quiet)
        .with(|run| {
            run.plan.scheduler =
                SchedulerChoice::RankPromotion(kernelbrain::search::RankPromotion {
                    min_results: 100,
                    ..Default::default()
                });
        })
        .go()
        .await;
    assert_eq!(ran.funnel(), [(20, 7), (7, 3), (3, 3)]);
}

#[tokio::test]
async fn promoted_as_they_come_about_a_third_goes_on() {
    for seed in 0..20 {
        let ran = Run::new(60, 0, 6, 4).with(|run| run.lab.nature.seed = seed).go().await;
        let funnel = ran.funnel();
        assert_eq!(funnel[0].0, 60);
        assert!((20..=32).contains(&funnel[0].1), "seed {seed}: {funnel:?}");
        assert!(funnel[1].1 <= funnel[1].0 / 2 + 2, "seed {seed}: {funnel:?}");
        assert_eq!(funnel[1].0, funnel[0].1, "whoever is promoted is evaluated");
    }
}

#[tokio::test]
async fn the_first_results_are_not_promoted_blindly() {
    let ran = Run::new(30, 0, 1, 1).with(quiet).go().await;
    let first = ran
        .events
        .iter()
        .take_while(|event| !matches!(event, Event::Decided { .. }))
        .filter(|event| matches!(event, Event::Settled { .. }))
        .count();
    assert_eq!(first, 3, "one of the first three is in the best third of them");
}

#[tokio::test]
async fn promotions_go_before_new_candidates() {
    let ran = Run::new(30, 0, 1, 1).with(quiet).go().await;
    let submissions = ran.submissions();
    let promoted = submissions.iter().position(|(_, rung)| *rung == 1).expect("somebody went up");
    assert!(promoted < 6, "rung 1 is entered long before rung 0 is through, not at {promoted}");
}

fn within_reach(reach: f64) -> SchedulerChoice {
    let rank = RankPromotion { reach: Some(reach), ..RankPromotion::default() };
    SchedulerChoice::RankPromotion(rank)
}

/// Regret: how far the winner is from the best there was, in percent.
fn regret(ran: &Ran) -> f64 {
    let nature = &ran.lab.nature;
    let sound = |source: &&String| (0..3).all(|rung| nature.rejection(source, rung).is_none());
    let candidates = ran.candidates();
    let best = candidates.iter().filter(sound).map(|s| nature.true_gain(s)).fold(0.0, f64::max);
    (best - nature.true_gain(&ran.winner())).exp_m1() * 100.0
}

#[tokio::test]
async fn a_ladder_finds_what_full_evaluation_finds_for_a_fraction_of_the_time() {
    let (mut ladder_hits, mut full_hits, mut ladder_seconds, mut full_seconds) = (0, 0, 0.0, 0.0);
    for seed in 0..20 {
        let run = || Run::new(80, 0, 6, 4).with(|run| run.lab.nature.seed = seed);
        let full = |run: &mut Run| run.plan.scheduler = SchedulerChoice::FullEvaluation;
        let ladder = run().go().await;
        let full = run().with(full).go().await;
        ladder_seconds += ladder.state.spend().gpu_seconds;
        full_seconds += full.state.spend().gpu_seconds;
        ladder_hits += usize::from(regret(&ladder) < 2.0);
        full_hits += usize::from(regret(&full) < 2.0);
    }
    assert!(full_hits >= 19, "full evaluation finds the best in {full_hits} of 20 worlds");
    assert!(ladder_hits >= 18, "the ladder finds the best in {ladder_hits} of 20 worlds");
    assert!(
        ladder_seconds < 0.55 * full_seconds,
        "{ladder_seconds:.0} GPU seconds against {full_seconds:.0}"
    );
}

#[tokio::test]
async fn whoever_is_out_of_the_best_ones_reach_costs_nothing_more() {
    let (mut hits, mut near_seconds, mut far_seconds, mut near, mut far) = (0, 0.0, 0.0, 0, 0);
    for seed in 0..20 {
        let run = || {
            Run::new(80, 0, 6, 4).with(|run| {
                run.lab.nature.seed = seed;
                run.lab.nature.noise = vec![0.02, 0.01, 0.005];
            })
        };
        let within = |run: &mut Run| run.plan.scheduler = within_reach(0.1);
        let (narrow, wide) = (run().with(within).go().await, run().go().await);
        hits += usize::from(regret(&narrow) < 2.0);
        near_seconds += narrow.state.spend().gpu_seconds;
        far_seconds += wide.state.spend().gpu_seconds;
        near += narrow.funnel()[1].0;
        far += wide.funnel()[1].0;
    }
    assert!(hits >= 19, "the best is found in {hits} of 20 worlds");
    assert!(near * 3 < far * 2, "{near} were looked at more closely, of {far} otherwise");
    assert!(near_seconds < 0.8 * far_seconds, "{near_seconds:.0} s of {far_seconds:.0} s");
}

#[tokio::test]
async fn a_best_one_that_comes_to_nothing_holds_nobody_back() {
    let mut found = 0;
    for seed in 0..20 {
        let run = || {
            Run::new(12, 0, 3, 2).with(|run| {
                run.lab.nature.gain = (0.2, 2.0);
                run.lab.nature.rejected = vec![0.0, 0.8, 0.0];
                run.lab.nature.seed = seed;
            })
        };
        let narrow = run().with(|run| run.plan.scheduler = within_reach(0.1)).go().await;
        let wide = run().go().await;
        let improved = |ran: &Ran| matches!(ran.outcome(), Outcome::Improved { .. });
        assert_eq!(improved(&narrow), improved(&wide), "world {seed}: {}", narrow.reason());
        found += usize::from(improved(&narrow));
    }
    assert!(found > 10, "{found} worlds had one that was accepted");
}

#[tokio::test]
async fn slower_than_the_baseline_never_goes_up() {
    let ran = Run::new(60, 0, 3, 4).go().await;
    let mut slow = 0;
    for record in ran.state.records() {
        if let Standing::Pruned { rung: 0, reason } = record.standing()
            && reason.contains("slower than the baseline")
        {
            slow += 1;
            let speedup = record.speedup().expect("it was measured");
            assert!(speedup < 1.0, "{speedup}: {reason}");
            assert_eq!(record.evaluations().len(), 1);
        }
    }
    assert!(slow > 5, "the world has slow candidates, {slow} of them");
}

#[tokio::test]
async fn everybody_ends_with_a_reason() {
    let ran = Run::new(60, 3, 3, 4).go().await;
    for record in ran.state.records() {
        match record.standing() {
            Standing::Rejected { .. } => assert!(record.gate().is_some()),
            Standing::Pruned { reason, .. } => assert!(!reason.is_empty()),
            Standing::Survivor | Standing::Winner => {
                assert_eq!(record.rung(), Some(2));
                assert!(ran.state.score(record) > Some(0.0));
            }
            other => panic!("{} is left {other:?}", record.candidate().source),
        }
    }
}

#[tokio::test]
async fn promoted_candidates_have_children() {
    let ran = Run::new(20, 3, 3, 4).go().await;
    let children = ran
        .state
        .records()
        .iter()
        .filter(|record| record.candidate().parent != Some(ran.state.baseline().id.clone()))
        .count();
    assert!(children > 5, "{children} children");
    for record in ran.state.records() {
        let parent = record.candidate().parent.as_ref().expect("only the baseline has none");
        if let Some(parent) = ran.state.record(parent) {
            assert!(parent.evaluations().iter().any(|evaluation| evaluation.accepted()));
        }
    }
}

#[tokio::test]
async fn the_trajectory_climbs_from_the_baseline_to_the_incumbent() {
    let ran = Run::new(60, 3, 3, 4).go().await;
    let steps = ran.state.trajectory();
    assert_eq!(steps[0].speedup, 1.0);
    assert!(
        steps.windows(2).all(|pair| pair[0].speedup < pair[1].speedup
            && pair[0].wall_seconds <= pair[1].wall_seconds)
    );
    let incumbent = ran.state.incumbent().expect("a survivor");
    assert_eq!(steps.last().map(|step| &step.candidate), Some(&incumbent.candidate().id));
}
