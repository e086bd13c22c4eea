//! The parts on their own; whole searches are in `tests/search/`.

use std::collections::BTreeSet;

use super::*;
use crate::kernel::{Candidate, Case, CaseMeasurement, Cost, Evaluation, Verdict};

fn cases(weights: &[f64]) -> Vec<Case> {
    let case = |(index, weight): (usize, &f64)| Case {
        name: format!("c{index}"),
        params: serde_json::Map::new(),
        weight: *weight,
    };
    weights.iter().enumerate().map(case).collect()
}

fn evaluation(latencies: &[(&str, f64)]) -> Evaluation {
    let measurement = |(case, latency_us): &(&str, f64)| CaseMeasurement {
        case: (*case).to_owned(),
        latency_us: *latency_us,
        baseline_us: None,
        host_us: None,
        backward_us: None,
        error: None,
    };
    Evaluation {
        candidate: Candidate::baseline("x").id,
        rung: 0,
        verdict: Verdict::Accepted,
        cases: latencies.iter().map(measurement).collect(),
        build: Vec::new(),
        diagnosis: None,
        disturbed: 0,
        profiling: None,
        cost: Cost::default(),
        same_program_as: None,
        observed: None,
        ended_at: None,
    }
}

mod ladder {
    use super::*;

    #[test]
    fn the_default_looks_at_a_spread_twice_and_then_at_all() {
        let ladder = Ladder::default();
        let eleven = cases(&[1.0; 11]);
        assert_eq!(ladder.cases_for(0, &eleven), [0, 2, 4, 6, 8, 10]);
        assert_eq!(ladder.cases_for(1, &eleven), [0, 2, 4, 6, 8, 10]);
        assert_eq!(ladder.cases_for(2, &eleven), (0..11).collect::<Vec<_>>());
        let five = cases(&[1.0; 5]);
        assert_eq!(ladder.cases_for(0, &five), [0, 1, 2, 3, 4]);
        let one = cases(&[1.0]);
        assert!((0..3).all(|rung| ladder.cases_for(rung, &one) == [0]));
        assert_eq!(Ladder::new(ladder.rungs().to_vec()), Ok(ladder), "the default is valid");
    }

    #[test]
    fn every_rung_measures_the_cases_of_those_below() {
        let ladder: Ladder = toml::from_str(
            r#"
            [[rung]]
            cases = { first = 2 }
            seeds = 1
            timing = { warmup = 1, repeat = 5 }
            keep = 0.5

            [[rung]]
            cases = { spread = 3 }
            seeds = 1
            timing = { warmup = 1, repeat = 5 }

            [[rung]]
            cases = "all"
            seeds = 2
            timing = { warmup = 1, repeat = 5 }
            profile = true
            "#,
        )
        .unwrap();
        assert_eq!(ladder.cases_for(1, &cases(&[1.0; 9])), [0, 1, 4, 8]);
        assert_eq!(ladder.rungs()[1].keep, 1.0);
        let text = toml::to_string(&ladder).unwrap();
        assert_eq!(toml::from_str::<Ladder>(&text).unwrap(), ladder);
    }

    fn error(rung: &str) -> String {
        toml::from_str::<Ladder>(rung).unwrap_err().message().to_owned()
    }

    #[test]
    fn what_is_wrong_is_said_with_the_rung() {
        let timing = "timing = { warmup = 1, repeat = 5 }";
        let one = |rest: &str| error(&format!("[[rung]]\nseeds = 1\n{timing}\n{rest}"));
        assert_eq!(error("rung = []"), "the ladder has no rung; give at least one [[rung]]");
        assert_eq!(
            one("cases = 'all'\nkeep = 3.0"),
            "rung 0: `keep` is a share greater than 0 and at most 1, not 3"
        );
        assert_eq!(one("cases = { first = 0 }"), "rung 0: `cases` must be at least 1");
        assert!(one("cases = { first = 2 }").starts_with("rung 0 is the last and must measure"));
        assert!(one("cases = 'some'").contains("unknown variant `some`, expected one of"));
        assert!(one("cases = 'all'\nkep = 1.0").contains("unknown field `kep`"));
    }
}

mod score {
    use super::*;

    #[test]
    fn is_executions_a_second_and_a_little_for_fidelity() {
        let weights = ScoreWeights { alpha: 0.5, beta: 0.001 };
        assert_eq!(weights.score(200.0, 0, 0.0), 5000.0);
        assert_eq!(weights.score(200.0, 2, 600.0), 5000.0 + 1.0 + 0.6);
        assert_eq!(weights.score(0.2, 0, 0.0), 1e6, "less than a microsecond counts as one");
    }

    #[test]
    fn latency_is_the_weighted_geometric_mean() {
        let measured = evaluation(&[("c0", 100.0), ("c1", 800.0)]);
        let latency = latency_us(&measured, &cases(&[2.0, 1.0])).unwrap();
        assert!((latency - 200.0).abs() < 1e-9, "(100² · 800)^⅓ = 200, not {latency}");
        assert_eq!(latency_us(&evaluation(&[]), &cases(&[1.0])), None);
    }

    #[test]
    fn rungs_compare_on_the_cases_they_share() {
        let baseline = evaluation(&[("c0", 100.0), ("c1", 1000.0), ("c2", 10.0)]);
        let low = evaluation(&[("c0", 50.0)]);
        let ratio = log_ratio(&low, &baseline, &cases(&[1.0; 3])).unwrap();
        assert!((ratio - 2.0_f64.ln()).abs() < 1e-12);
        let elsewhere = evaluation(&[("c9", 50.0)]);
        assert_eq!(log_ratio(&elsewhere, &baseline, &cases(&[1.0; 3])), None);
    }

    #[test]
    fn what_ended_early_is_as_fast_as_it_was_where_it_ended() {
        let baseline = evaluation(&[("c0", 100.0), ("c1", 1000.0), ("c2", 10.0)]);
        let mut ended = evaluation(&[("c0", 10.0), ("c1", 2000.0)]);
        ended.ended_at = Some("c1".into());
        let ratio = log_ratio(&ended, &baseline, &cases(&[1.0; 3])).unwrap();
        assert!((ratio - 0.5_f64.ln()).abs() < 1e-12, "ten times as fast elsewhere, and no winner");
    }

    #[test]
    fn of_equals_the_one_that_was_added_first_is_better() {
        let place = |log_ratio, number| Place { log_ratio, number };
        let mut places = [place(0.1, 2), place(0.3, 4), place(f64::NEG_INFINITY, 0), place(0.3, 1)];
        places.sort();
        assert_eq!(places.map(|place| place.number), [1, 4, 2, 0]);
    }
}

mod scheduler {
    use super::*;

    fn place(speedup: f64, number: usize) -> Place {
        Place { log_ratio: speedup.ln(), number }
    }

    /// Numbers of those who go on, of `waiting` with `promoted` before and `rejected` besides.
    fn goes_on(
        scheduler: &dyn Scheduler,
        waiting: &[f64],
        promoted: &[f64],
        rejected: usize,
        drained: bool,
    ) -> Vec<usize> {
        let waiting: BTreeSet<Place> =
            waiting.iter().enumerate().map(|(number, speedup)| place(*speedup, number)).collect();
        let promoted: Vec<Place> =
            promoted.iter().enumerate().map(|(i, speedup)| place(*speedup, 100 + i)).collect();
        let view = RungView {
            rung: 0,
            keep: 1.0 / 3.0,
            results: waiting.len() + promoted.len() + rejected,
            waiting: &waiting,
            promoted: &promoted,
            best: promoted
                .iter()
                .chain(&waiting)
                .map(|place| place.log_ratio)
                .max_by(f64::total_cmp),
            drained,
        };
        scheduler.promotions(&view).iter().map(|promotion| promotion.place.number).collect()
    }

    #[test]
    fn the_quota_is_rounded_down_while_more_may_come_and_up_at_the_end() {
        let rank = RankPromotion::default();
        let five = [1.1, 1.5, 1.2, 1.9, 1.3];
        assert_eq!(goes_on(&rank, &five, &[], 0, false), [3]);
        assert_eq!(goes_on(&rank, &five, &[], 0, true), [3, 1]);
        assert_eq!(goes_on(&rank, &[1.2], &[], 0, true), [0], "the best of one");
        assert_eq!(goes_on(&rank, &[], &[], 4, true), [0_usize; 0], "nobody is left");
    }

    #[test]
    fn two_results_are_too_few_for_an_early_promotion() {
        let eager = RankPromotion { min_results: 1, ..RankPromotion::default() };
        let view = |scheduler: &dyn Scheduler| goes_on(scheduler, &[1.2, 1.5], &[], 1, false);
        assert_eq!(
            view(&RankPromotion::default()),
            [1],
            "three results, a rejected one among them"
        );
        assert_eq!(goes_on(&RankPromotion::default(), &[1.2, 1.5], &[], 0, false), [0_usize; 0]);
        assert_eq!(view(&eager), [1]);
    }

    #[test]
    fn those_promoted_before_keep_their_places() {
        let rank = RankPromotion::default();
        // Nine results, three go on; two did already, both better.
        assert_eq!(goes_on(&rank, &[1.4, 1.3], &[2.0, 1.9], 5, false), [0]);
        // A late arrival that beats all of them goes on, although three did.
        assert_eq!(goes_on(&rank, &[2.5, 1.3], &[2.0, 1.9, 1.8], 4, false), [0]);
        assert_eq!(goes_on(&rank, &[1.7, 1.3], &[2.0, 1.9, 1.8], 4, false), [0_usize; 0]);
    }

    #[test]
    fn slower_than_the_baseline_beyond_the_margin_is_hopeless() {
        let rank = RankPromotion { margin: 0.02, ..RankPromotion::default() };
        assert_eq!(rank.hopeless(place(0.99, 0)), None);
        assert_eq!(
            rank.hopeless(place(0.9, 0)).as_deref(),
            Some("slower than the baseline: 0.900x its speed")
        );
        let nothing = Place { log_ratio: f64::NEG_INFINITY, number: 0 };
        assert!(rank.hopeless(nothing).is_some_and(|reason| reason.contains("no case")));
        assert_eq!(FullEvaluation.hopeless(place(0.1, 0)), None);
        assert!(FullEvaluation.hopeless(nothing).is_some());
    }

    #[test]
    fn whoever_is_far_behind_the_best_stays_though_there_is_room() {
        let rank = RankPromotion { reach: Some(0.1), ..RankPromotion::default() };
        // Eighteen results, six may go on, and three do in any case.
        assert_eq!(goes_on(&rank, &[3.0, 2.8, 1.2, 1.1], &[], 14, true), [0, 1, 2]);
        assert_eq!(goes_on(&rank, &[3.0, 2.9, 2.8, 2.75, 1.1], &[], 13, true), [0, 1, 2, 3]);
        assert_eq!(goes_on(&rank, &[2.8, 1.2, 1.1], &[3.0], 14, true), [0, 1]);
        assert_eq!(goes_on(&rank, &[2.0, 1.2], &[3.0, 2.9, 2.8], 13, true), [0_usize; 0]);
        assert_eq!(goes_on(&rank, &[1.2, 1.19, 1.18, 1.17], &[], 14, true), [0, 1, 2, 3]);
    }

    #[test]
    fn full_evaluation_takes_everybody() {
        assert_eq!(goes_on(&FullEvaluation, &[0.5, 1.5, 0.9], &[], 0, false), [1, 2, 0]);
    }

    #[test]
    fn a_choice_is_named_in_a_configuration() {
        let choice: SchedulerChoice =
            serde_json::from_str(r#"{"kind": "rank_promotion", "min_results": 5}"#).unwrap();
        let expected = RankPromotion { min_results: 5, ..RankPromotion::default() };
        assert_eq!(choice, SchedulerChoice::RankPromotion(expected));
    }
}

mod budget {
    use super::*;

    fn spend(wall_seconds: f64, gpu_seconds: f64, evaluations: u64) -> Spend {
        Spend { wall_seconds, gpu_seconds, evaluations, ..NOTHING }
    }

    const NOTHING: Spend =
        Spend { wall_seconds: 0.0, gpu_seconds: 0.0, evaluations: 0, tokens: 0, usd: 0.0 };

    #[test]
    fn without_limits_everything_is_allowed() {
        let limits = Limits::default();
        let fortune = spend(1e9, 1e9, u64::MAX / 4);
        assert_eq!(limits.forbids(&fortune, &fortune, &fortune), None);
        assert_eq!(limits.exhausted(&fortune), None);
        assert_eq!(limits.reserve(&fortune, 0.35, &NOTHING), NOTHING);
    }

    #[test]
    fn a_job_must_fit_with_the_reserve() {
        let limits =
            Limits { wall_seconds: Some(60.0), evaluations: Some(10), ..Limits::default() };
        let reserve = spend(21.0, 0.0, 2);
        let forbids = |spent: &Spend| limits.forbids(spent, &spend(1.0, 5.0, 1), &reserve);
        assert_eq!(forbids(&spend(38.0, 1e6, 7)), None);
        assert_eq!(forbids(&spend(38.1, 0.0, 7)), Some(Limit::WallClock));
        assert_eq!(forbids(&spend(38.0, 0.0, 8)), Some(Limit::Evaluations));
        assert_eq!(limits.exhausted(&spend(60.0, 0.0, 0)), Some(Limit::WallClock));
        assert_eq!(limits.remaining(&spend(70.0, 0.0, 4)).evaluations, Some(6));
        assert_eq!(limits.remaining(&spend(70.0, 0.0, 4)).wall_seconds, Some(0.0));
    }

    #[test]
    fn the_reserve_is_a_share_or_what_is_needed_but_never_nearly_all() {
        let limits = Limits { wall_seconds: Some(100.0), ..Limits::default() };
        let reserve = |need: f64, spent: f64| {
            limits.reserve(&spend(need, 0.0, 0), 0.35, &spend(spent, 0.0, 0)).wall_seconds
        };
        assert_eq!(reserve(10.0, 2.0), 35.0);
        assert_eq!(reserve(50.0, 2.0), 50.0);
        assert_eq!(reserve(500.0, 20.0), 0.7 * 80.0);
    }
}

mod plan {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused() {
        let plan = || Plan::new(cases(&[1.0]), 2);
        let error = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            State::new(plan, Candidate::baseline("x")).unwrap_err().to_string()
        };
        assert!(plan().validate().is_ok());
        assert!(error(|plan| plan.cases.clear()).contains("no case to measure"));
        assert!(error(|plan| plan.cases[0].weight = f64::NAN).contains("case `c0`"));
        assert!(error(|plan| plan.window = 0).contains("at least 1"));
        assert!(error(|plan| plan.reserve = 2.0).contains("not 2"));
        assert!(error(|plan| plan.limits.wall_seconds = Some(-1.0)).contains("wall clock"));
    }

    #[test]
    fn is_recorded_and_read_back() {
        let plan = Plan::new(cases(&[1.0, 2.0]), 12);
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}
