//! Questions to a language model: paid for before they are asked, a few at a time, beside everything
//! else.

use kernelbrain::{
    kernel::{Gate, Move},
    search::{Event, Outcome, Rewrites, SchedulerChoice, Standing},
};

use crate::{
    run::Run,
    world::moves::{ESTIMATE, PAID},
};

/// Two recipes and two rewrites of the baseline, one of each from whoever is promoted.
fn run() -> Run {
    Run::new(2, 1, 2, 2).with(|run| {
        run.plan.generation.rewrites =
            Some(Rewrites { seeds: 2, children: 1, ..Rewrites::default() });
        run.lab.nature.rejected = vec![0.0; 3];
        run.lab.nature.gain = (0.1, 0.9);
    })
}

#[tokio::test]
async fn a_question_is_debited_before_it_is_asked_and_corrected_by_its_answer() {
    let ran = run().go().await;
    let asked = ran.events.iter().filter(|event| matches!(event, Event::Asked { .. })).count();
    assert_eq!(asked, ran.moves.questions.len());
    assert!(asked > 2, "the promoted ones are rewritten as well: {:?}", ran.moves.questions);
    let spent = ran.state.spend();
    assert_eq!(spent.tokens, PAID.tokens * asked as u64);
    assert!((spent.usd - PAID.usd * asked as f64).abs() < 1e-9);
    assert!(ran.candidates().contains(&"baseline rewritten 0".to_owned()));
    assert!(ran.candidates().contains(&"seed 0".to_owned()), "recipes are tried beside them");
    // Before its answer each question stood in the account as it was estimated.
    let first = ran.events.iter().position(|event| matches!(event, Event::Asked { .. }));
    let Some(Event::Asked { estimate, .. }) = first.map(|at| &ran.events[at]) else { panic!() };
    assert_eq!(*estimate, ESTIMATE);
}

#[tokio::test]
async fn without_a_model_nobody_is_asked() {
    let ran = run().with(|run| run.plan.generation.rewrites = None).go().await;
    assert!(ran.moves.questions.is_empty());
    assert_eq!(ran.state.spend().tokens, 0);
}

#[tokio::test]
async fn a_model_is_at_a_few_questions_at_a_time_and_at_no_more_than_the_run_may_ask() {
    let rewrites =
        Rewrites { seeds: 9, children: 9, most: 11, in_flight: 3, ..Rewrites::default() };
    let ran = run()
        .with(|run| {
            run.plan.generation.rewrites = Some(rewrites);
            run.moves.model_slow = 5;
        })
        .go()
        .await;
    assert_eq!(ran.moves.most_at_once, 3);
    assert_eq!(ran.moves.questions.len(), 11);
}

#[tokio::test]
async fn a_model_is_told_what_was_tried_before() {
    let ran = run().with(|run| run.plan.window = 1).go().await;
    let late = ran.moves.questions.last().expect("something was asked");
    assert!(!late.ends_with(", 0 tried"), "{late}");
    assert!(ran.moves.questions[0].starts_with("baseline 0, "), "{:?}", ran.moves.questions);
}

#[tokio::test]
async fn what_a_gate_rejects_goes_back_as_often_as_it_may() {
    let flawed = |gate| {
        run().with(move |run| {
            run.plan.generation.rewrites =
                Some(Rewrites { seeds: 1, children: 0, repairs: 2, ..Rewrites::default() });
            run.lab.nature.flawed = Some(("rewritten 0", gate));
        })
    };
    let ran = flawed(Gate::Build).go().await;
    assert_eq!(
        ran.moves.questions[1..],
        [
            "baseline rewritten 0: build: it ends with rewritten 0",
            "1 baseline rewritten 0: build: it ends with rewritten 0",
        ]
    );
    let last = ran
        .state
        .records()
        .iter()
        .find(|record| matches!(record.candidate().origin, Move::Rewrite { repairs: 2, .. }));
    let last = last.expect("the second repair was evaluated too");
    assert!(matches!(last.standing(), Standing::Rejected { .. }));
    assert_eq!(last.candidate().parent, Some(ran.state.baseline().id.clone()), "a change of that");
    let dishonest = flawed(Gate::Integrity).go().await;
    assert_eq!(dishonest.moves.questions.len(), 1, "that is no slip of the pen");
}

#[tokio::test]
async fn without_tokens_or_money_a_run_goes_on_with_what_it_has() {
    for (tokens, usd, what) in [(Some(2400), None, "tokens"), (None, Some(0.024), "money")] {
        let ran = run()
            .with(|run| {
                run.plan.limits.tokens = tokens;
                run.plan.limits.usd = usd;
            })
            .go()
            .await;
        // A third question fits once those before it turned out to be cheaper than feared.
        assert!((2..=3).contains(&ran.moves.questions.len()), "{:?}", ran.moves.questions);
        let declined = ran.events.iter().find_map(|event| match event {
            Event::MoveDiscarded { reason, .. } if reason.contains("budget") => Some(reason),
            _ => None,
        });
        assert!(declined.expect("it is told").contains(what), "{declined:?}");
        assert!(ran.state.spend().tokens <= tokens.unwrap_or(u64::MAX));
        assert!(ran.candidates().iter().any(|source| source.starts_with("seed ")));
        assert!(ran.outcome.is_ok());
    }
}

#[tokio::test]
async fn a_model_that_thinks_keeps_nobody_from_being_promoted() {
    let ran = run()
        .with(|run| {
            run.plan.generation.rewrites =
                Some(Rewrites { seeds: 1, children: 0, ..Rewrites::default() });
            run.moves.model_slow = 40;
        })
        .go()
        .await;
    let position = |wanted: &dyn Fn(&Event) -> bool| ran.events.iter().position(wanted);
    let promoted = position(&|event| matches!(event, Event::Decided { .. })).expect("a decision");
    let rewritten = position(&|event| match event {
        Event::CandidateAdded { candidate } => matches!(candidate.origin, Move::Rewrite { .. }),
        _ => false,
    });
    assert!(promoted < rewritten.expect("it answers in the end"), "{:#?}", ran.events);
}

#[tokio::test]
async fn a_question_under_way_is_asked_again_and_not_paid_for_twice() {
    let whole = run().go().await;
    for killed_at in 1..whole.events.len() {
        let events = whole.events[..killed_at].to_vec();
        let resumed = run().go_on(events, None).await;
        let asked = |event: &&Event| matches!(event, Event::Asked { .. });
        let spent = resumed.state.spend();
        let questions = resumed.events.iter().filter(asked).count() as u64;
        assert_eq!(spent.tokens, PAID.tokens * questions, "killed at {killed_at}");
        let mut keys: Vec<String> = resumed
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Asked { parent, rung, kind, .. } => {
                    Some(format!("{parent} {rung:?} {kind:?}"))
                }
                _ => None,
            })
            .collect();
        keys.sort();
        let before = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), before, "killed at {killed_at}");
    }
}

#[tokio::test]
async fn a_run_waits_for_somebody_outside_without_a_lease() {
    let ran = run()
        .with(|run| {
            run.moves.awaited = true;
            run.plan.generation.seeds = 0;
        })
        .go()
        .await;
    assert!(
        ran.reason().contains("until 2 requests for candidates are answered"),
        "{}",
        ran.reason()
    );
    assert_eq!(ran.state.spend().tokens, 2 * ESTIMATE.tokens, "what was asked stays debited");
}

#[tokio::test]
async fn most_of_the_budget_is_kept_for_what_comes_of_awaited_answers() {
    let with_seeds = |awaited: bool| {
        Run::new(2000, 2, 3, 4).with(move |run| {
            run.plan.limits.wall_seconds = Some(100.0);
            run.plan.generation.seeds = 2000;
            run.plan.generation.rewrites = Some(Rewrites { seeds: 3, ..Rewrites::default() });
            run.moves.model_awaited = awaited;
            run.lab.nature.rejected = vec![0.0; 3];
        })
    };
    let parked = with_seeds(true).go().await;
    assert!(matches!(parked.outcome(), Outcome::Parked { .. }), "{}", parked.reason());
    let spent = parked.state.spend().wall_seconds;
    assert!((40.0..60.0).contains(&spent), "{spent} of 100 s");

    // Nobody has answered: nothing is spent, and it is parked again.
    let again = with_seeds(true).go_on(parked.events, None).await;
    assert!(matches!(again.outcome(), Outcome::Parked { .. }), "{}", again.reason());
    assert!(again.lab.started.is_empty(), "{:?}", again.lab.started);
    assert!(again.state.spend().wall_seconds < spent + 1.0);

    let answered = with_seeds(false).go_on(again.events, None).await;
    assert!(matches!(answered.outcome(), Outcome::Improved { .. }), "{}", answered.reason());
    let rewritten = |(source, _): &&(String, usize)| source.contains("rewritten");
    assert!(answered.lab.started.iter().any(|job| rewritten(&job)));
    assert!(answered.state.spend().wall_seconds > 60.0);
}

#[tokio::test]
async fn questions_are_for_rewrites_and_for_the_best_of_the_recipes() {
    let ran = Run::new(60, 2, 3, 4)
        .with(|run| {
            run.plan.generation.rewrites =
                Some(Rewrites { seeds: 2, children: 1, most: 100, ..Rewrites::default() });
            run.lab.nature.rejected = vec![0.0; 3];
        })
        .go()
        .await;
    let of_recipes =
        ran.moves.questions.iter().filter(|question| {
            !question.starts_with("baseline") && !question.contains("rewritten")
        });
    let promoted = ran.funnel()[1].0 + ran.funnel()[2].0;
    assert!((1..promoted / 2).contains(&of_recipes.count()), "{:?}", ran.moves.questions);
}

#[tokio::test]
async fn what_recipes_alone_made_gets_a_quarter_of_the_questions() {
    let of_recipes = async |most| {
        let rewrites = Rewrites { seeds: 0, children: 2, most, ..Rewrites::default() };
        let ran = Run::new(60, 2, 3, 4)
            .with(|run| {
                run.plan.generation.rewrites = Some(rewrites);
                run.lab.nature.rejected = vec![0.0; 3];
            })
            .go()
            .await;
        ran.moves.questions.iter().filter(|question| !question.contains("rewritten")).count()
    };
    assert_eq!(of_recipes(3).await, 0);
    assert_eq!(of_recipes(12).await, 3);
    let as_many_as_there_are = of_recipes(1000).await;
    assert!((4..250).contains(&as_many_as_there_are), "{as_many_as_there_are}");
}

#[tokio::test]
async fn what_the_verification_finds_wrong_goes_back_too() {
    let ran = Run::new(0, 0, 2, 2)
        .with(|run| {
            run.plan.generation.seeds = 0;
            run.plan.generation.rewrites =
                Some(Rewrites { seeds: 1, children: 0, ..Rewrites::default() });
            run.lab.nature.gain = (0.1, 0.9);
            run.lab.nature.rejected = vec![0.0; 3];
            run.lab.nature.refuted = vec!["baseline rewritten 0".to_owned()];
            run.lab.nature.refuted_by = Gate::Correctness;
        })
        .go()
        .await;
    assert_eq!(
        ran.moves.questions,
        ["baseline 0, 0 tried", "baseline rewritten 0: correctness: 1.01x is within the noise"]
    );
    assert_eq!(ran.winner(), "1 baseline rewritten 0");
}

/// How fast the parents of the questions about children really are: the mean of the natural
/// logarithms of their speedups. Eight rewrites come at once.
async fn parents_of_children(seed: u64, best_first: bool) -> f64 {
    let rewrites = Rewrites {
        seeds: 8,
        children: 2,
        most: 14,
        in_flight: 8,
        best_first,
        ..Rewrites::default()
    };
    let ran = Run::new(0, 0, 3, 8)
        .with(|run| {
            run.plan.generation.rewrites = Some(rewrites);
            run.plan.generation.seeds = 0;
            // Everybody goes up, so that the places among the parents are what is scarce.
            run.plan.scheduler = SchedulerChoice::FullEvaluation;
            run.lab.nature.seed = seed;
            run.lab.nature.rejected = vec![0.0; 3];
            run.lab.nature.gain = (0.1, 2.0);
        })
        .go()
        .await;
    assert!(ran.moves.questions.len() <= 14, "{:?}", ran.moves.questions);
    let parent = |question: &String| {
        let about = question.split(',').next().unwrap_or_default();
        let (parent, _) = about.rsplit_once(' ').expect("a question numbers its answer");
        (parent != "baseline").then(|| ran.lab.nature.true_gain(parent))
    };
    let gains: Vec<f64> = ran.moves.questions.iter().filter_map(parent).collect();
    gains.iter().sum::<f64>() / gains.len() as f64
}

#[tokio::test]
async fn questions_go_to_the_best_parents_there_are() {
    let (mut better, mut parents) = (0, 0.0);
    for seed in 0..20 {
        let best_first = parents_of_children(seed, true).await;
        let first_come = parents_of_children(seed, false).await;
        better += usize::from(best_first >= first_come);
        parents += best_first - first_come;
    }
    assert!(better >= 16, "better parents in {better} of 20 worlds");
    assert!(parents / 20.0 > 0.1, "{:.3} on average", parents / 20.0);
}

#[tokio::test]
async fn somebody_outside_has_a_few_questions_at_a_time() {
    let outside = |most: Option<usize>| {
        let rewrites = Rewrites { seeds: 9, in_flight: 3, awaited: most, ..Rewrites::default() };
        run().with(move |run| {
            run.plan.generation.rewrites = Some(rewrites);
            run.moves.model_awaited = true;
        })
    };
    let parked = outside(Some(3)).go().await;
    assert!(parked.reason().contains("until 3 requests"), "{}", parked.reason());
    // More than a model is at, at a time: those before them turn out to be for somebody outside.
    let more = outside(Some(7)).go().await;
    assert!(more.reason().contains("until 7 requests"), "{}", more.reason());
    let all = outside(None).go().await;
    let asked = all.moves.questions.len();
    assert!(asked > 9, "{:?}", all.moves.questions);
    assert!(all.reason().contains(&format!("until {asked} requests")), "{}", all.reason());

    // Once they are answered, others are asked.
    let answered = outside(Some(3)).with(|run| run.moves.model_awaited = false);
    let ran = answered.go_on(parked.events, None).await;
    assert!(matches!(ran.outcome(), Outcome::Improved { .. }), "{}", ran.reason());
    let asked = ran.events.iter().filter(|event| matches!(event, Event::Asked { .. })).count();
    assert_eq!(asked, 24, "all that the run may ask");
}

#[tokio::test]
async fn a_model_that_answers_by_itself_is_not_somebody_outside() {
    let rewrites = Rewrites { seeds: 9, in_flight: 6, awaited: Some(2), ..Rewrites::default() };
    let ran = run()
        .with(|run| {
            run.plan.generation.rewrites = Some(rewrites);
            run.moves.model_slow = 5;
        })
        .go()
        .await;
    assert_eq!(ran.moves.most_at_once, 6);
}
