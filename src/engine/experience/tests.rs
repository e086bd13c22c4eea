use serde_json::Map;

use super::*;
use crate::{
    generate::{
        prompt::lessons,
        recipe::{DeviceKind, fixtures::SCALE_ROWS},
        task::Standing,
    },
    kernel::{
        Candidate, CandidateId, Case, CaseMeasurement, Cost, Evaluation, Event, Gate, Move,
        Observation, Rejection, Spend, Verdict, Verification,
    },
    search::Plan,
};

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

/// A run that is told what happened, over the cases `main` and `side`.
struct Story(State);

impl Story {
    fn new() -> Self {
        let case = |name: &str| Case { name: name.into(), params: Map::new(), weight: 1.0 };
        let mut plan = Plan::new(vec![case("main"), case("side")], 4);
        plan.bounds_us = vec![Some(50.0), None];
        let baseline = Candidate::baseline(SCALE_ROWS);
        let id = baseline.id.clone();
        let mut story = Self(State::new(plan, baseline).unwrap());
        let evaluation = measured(&id, &[("main", 100.0, None), ("side", 10.0, None)]);
        story.tell(Event::BaselineMeasured { evaluation });
        story
    }

    fn tell(&mut self, event: Event) {
        self.0.apply(&event).unwrap();
    }

    fn added(&mut self, parent: &CandidateId, origin: Move) -> CandidateId {
        let source = format!("x = {}\n", self.0.records().len());
        let candidate = Candidate::child(parent, origin, source);
        let id = candidate.id.clone();
        self.tell(Event::CandidateAdded { candidate });
        id
    }

    fn settled(&mut self, evaluation: Evaluation) -> CandidateId {
        let candidate = evaluation.candidate.clone();
        let (rung, spent) = (0, Spend::default());
        self.tell(Event::Debited { candidate: candidate.clone(), rung, estimate: spent });
        self.tell(Event::Evaluated { evaluation, spent });
        self.tell(Event::Settled { candidate: candidate.clone(), rung });
        candidate
    }

    /// A child of `parent` that takes `main_us` on the main case.
    fn timed(&mut self, parent: &CandidateId, origin: Move, main_us: f64) -> CandidateId {
        let id = self.added(parent, origin);
        self.settled(measured(&id, &[("main", main_us, None)]))
    }

    fn rejected(&mut self, parent: &CandidateId, origin: Move, why: Rejection) -> CandidateId {
        let id = self.added(parent, origin);
        let verdict = Verdict::Rejected(why);
        self.settled(Evaluation { verdict, ..measured(&id, &[]) })
    }

    fn baseline(&self) -> CandidateId {
        self.0.baseline().id.clone()
    }

    fn observations(&self) -> Vec<Observation> {
        observations(&circumstances(), &self.0, NOW)
    }
}

fn measured(candidate: &CandidateId, cases: &[(&str, f64, Option<f64>)]) -> Evaluation {
    let measurement =
        |(case, latency_us, baseline_us): &(&str, f64, Option<f64>)| CaseMeasurement {
            case: (*case).into(),
            latency_us: *latency_us,
            baseline_us: *baseline_us,
            host_us: None,
            backward_us: None,
            error: None,
        };
    Evaluation {
        candidate: candidate.clone(),
        rung: 0,
        verdict: Verdict::Accepted,
        cases: cases.iter().map(measurement).collect(),
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

fn circumstances() -> Circumstances {
    let context = Context::new(DeviceKind::Cuda);
    let device = Device::Cuda { index: 0, capability: (9, 0) };
    Circumstances::new("run", "scale rows", SCALE_ROWS, &context, false, device, "3.6.0").unwrap()
}

fn recipe(text: &str) -> Move {
    Move::Recipe { text: text.into() }
}

fn rewrite(task: &str, repairs: u32) -> Move {
    Move::Rewrite { task: task.into(), repairs }
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-9)
}

#[test]
fn circumstances_name_the_kind_of_kernel_and_of_gpu() {
    let it = circumstances();
    assert_eq!(
        (it.operator.as_str(), it.arch.as_str()),
        ("reduction+loop+several-passes", "sm_90")
    );
    let context = Context::new(DeviceKind::Cpu);
    let of =
        |text: &str| Circumstances::new("run", "x", text, &context, false, Device::Cpu, "3.6.0");
    assert_eq!(of(SCALE_ROWS).unwrap().arch, "cpu");
    assert_eq!(of("def broken(:\n"), None);
}

#[test]
fn a_gain_is_over_the_parent_and_speeds_are_over_the_baseline() {
    let mut story = Story::new();
    let first = story.timed(&story.baseline(), recipe("tile TILE=512"), 80.0);
    story.timed(&first, rewrite("row-on-chip", 0), 60.0);
    let [first, second] = &story.observations()[..] else { panic!("two candidates") };
    assert!(near(first.speedup, 1.25) && near(first.parent_speedup, 1.0) && near(first.gain, 1.25));
    // 100 is 50 above the bound, 80 is 30 above it.
    assert!(near(first.headroom_closed, 0.4), "{first:?}");
    assert!(near(second.speedup, 100.0 / 60.0) && near(second.parent_speedup, 1.25));
    assert!(near(second.gain, 80.0 / 60.0) && near(second.headroom_closed, 20.0 / 30.0));
    assert_eq!(second.step(), "row-on-chip");
}

#[test]
fn a_device_that_runs_slower_by_now_is_not_held_against_a_move() {
    let mut story = Story::new();
    let id = story.added(&story.baseline(), recipe("warps 8"));
    // It takes as long as the baseline did at first, and the baseline twice as long by now.
    story.settled(measured(&id, &[("main", 100.0, Some(200.0))]));
    let observed = &story.observations()[0];
    assert!(near(observed.gain, 2.0), "{observed:?}");
}

#[test]
fn only_cases_that_both_were_measured_on_count() {
    let mut story = Story::new();
    let parent = story.added(&story.baseline(), recipe("warps 8"));
    story.settled(measured(&parent, &[("main", 100.0, None)]));
    let id = story.added(&parent, recipe("warps 4"));
    story.settled(measured(&id, &[("main", 50.0, None), ("side", 10.0, None)]));
    // What ended early says something about the case that it ended at only.
    let slow = story.added(&story.baseline(), recipe("warps 1"));
    let ended_at = Some("side".to_owned());
    let cases = [("main", 50.0, None), ("side", 40.0, None)];
    story.settled(Evaluation { ended_at, ..measured(&slow, &cases) });
    let observed = story.observations();
    assert!(near(observed[1].gain, 2.0), "{:?}", observed[1]);
    assert!(near(observed[2].gain, 0.25), "{:?}", observed[2]);
}

#[test]
fn a_bound_that_is_none_gives_no_headroom() {
    let mut story = Story::new();
    story.timed(&story.baseline(), recipe("split 4"), 30.0);
    assert_eq!(story.observations()[0].headroom_closed, None);
}

#[test]
fn who_was_neither_measured_nor_rejected_shows_nothing() {
    let mut story = Story::new();
    story.added(&story.baseline(), recipe("warps 8"));
    assert_eq!(story.observations(), []);
}

#[test]
fn a_reason_is_kept_as_one_short_clean_line() {
    let mut story = Story::new();
    let reason = format!("first\n\u{1b}[31mred\u{7} \u{202e}second  {}", "x".repeat(5000));
    let why = Rejection::new(Gate::Build, reason).on_case("main").at_line(Some(3));
    story.rejected(&story.baseline(), recipe("warps 8"), why);
    story.rejected(&story.baseline(), recipe("warps 4"), Rejection::new(Gate::Policy, "\u{7}\n"));
    let reasons: Vec<_> =
        story.observations().into_iter().filter_map(|it| Some(it.failure?.reason)).collect();
    assert!(reasons[0].starts_with("first red second xxx") && reasons[0].ends_with("x…"));
    assert_eq!(reasons[0].chars().count(), 240);
    assert_eq!(reasons[1], "no reason was given");
}

#[test]
fn a_rewrite_and_its_repairs_are_one_try() {
    let mut story = Story::new();
    let baseline = story.baseline();
    let why = || Rejection::new(Gate::Build, "no such intrinsic");
    story.rejected(&baseline, rewrite("row-on-chip", 0), why());
    story.rejected(&baseline, rewrite("row-on-chip", 1), why());
    story.timed(&baseline, rewrite("row-on-chip", 2), 50.0);
    // Another task's first try is its last.
    story.rejected(&baseline, rewrite("split-reduction", 0), why());
    let observed = story.observations();
    let repaired: Vec<bool> = observed.iter().map(|it| it.repaired).collect();
    assert_eq!(repaired, [true, true, false, false]);

    let known = experience(&observed, None);
    let tally = |task: &str| known.of(task, &circumstances().operator, "sm_90").unwrap();
    let helped = tally("row-on-chip");
    assert_eq!((helped.tries, helped.successes), (1, 1));
    let failed = tally("split-reduction");
    assert_eq!((failed.tries, failed.successes), (1, 0));
}

#[test]
fn a_survivor_that_its_verification_refutes_is_no_success() {
    let mut story = Story::new();
    let id = story.timed(&story.baseline(), recipe("warps 8"), 50.0);
    let verdict = Verdict::Rejected(Rejection::new(Gate::Performance, "1.01x is within noise"));
    let verification = Verification {
        candidate: id,
        verdict,
        comparisons: Vec::new(),
        vs_baseline: None,
        vs_eager: None,
        vs_compile: None,
        cost: Cost::default(),
        notes: Vec::new(),
        profiling: None,
        review: None,
    };
    story.tell(Event::Verified { verification, spent: Spend::default() });
    let observed = story.observations();
    assert!(observed[0].is_try() && observed[0].success().is_none(), "{:?}", observed[0]);
}

#[test]
fn timings_that_became_void_are_not_remembered() {
    let mut story = Story::new();
    story.timed(&story.baseline(), recipe("warps 8"), 50.0);
    let why = Rejection::new(Gate::Correctness, "differs");
    story.rejected(&story.baseline(), recipe("warps 4"), why);
    story.tell(Event::Resumed { reset: Some("driver was 1 and is 2".into()) });
    let observed = story.observations();
    assert_eq!(observed.len(), 1, "{observed:?}");
    assert!(observed[0].failure.is_some());
}

/// An observation of `origin` with this gain over the baseline.
fn seen(origin: Move, triton: &str, gain: f64) -> Observation {
    let mut story = Story::new();
    story.timed(&story.baseline(), origin, 100.0 / gain);
    Observation { triton: triton.into(), ..story.observations().remove(0) }
}

fn failed(origin: Move, gate: Gate, reason: &str) -> Observation {
    let mut story = Story::new();
    story.rejected(&story.baseline(), origin, Rejection::new(gate, reason));
    story.observations().remove(0)
}

#[test]
fn recipes_of_the_same_verbs_are_one_move_with_the_best_of_them_as_its_note() {
    let known = experience(
        &[
            seen(recipe("tile TILE=512; warps 8"), "3.6.0", 1.2),
            seen(recipe("warps 4; tile BLOCK=64"), "3.6.0", 1.8),
            seen(recipe("tile TILE=16; warps 1"), "3.6.0", 0.5),
        ],
        None,
    );
    let (subject, tally) = known.iter().next().unwrap();
    assert_eq!(known.iter().count(), 1);
    assert_eq!(subject.task, "recipe tile+warps");
    assert_eq!((tally.tries, tally.successes), (3, 2));
    assert!(near(tally.median_gain, (1.2_f64 * 1.8).sqrt()), "{tally:?}");
    let note = known.note(subject).unwrap();
    assert_eq!(note, "best: warps 4; tile BLOCK=64; took 2.0 times as long once");
}

#[test]
fn the_most_instructive_failure_is_the_last_of_the_gate_that_tells_most() {
    let task = || rewrite("row-on-chip", 0);
    let known = experience(
        &[
            failed(task(), Gate::Correctness, "differs on ragged rows"),
            failed(task(), Gate::Correctness, "differs in the last row"),
            failed(task(), Gate::Build, "out of shared memory"),
            failed(task(), Gate::Performance, "1.01x is within noise"),
        ],
        None,
    );
    let (subject, tally) = known.iter().next().unwrap();
    assert_eq!(tally.standing(), Standing::Avoid);
    assert_eq!(known.note(subject), Some("correctness: differs in the last row"));
    let (_, avoid) = lessons(&known, &subject.operator, "sm_90");
    assert_eq!(avoid[0].note.as_deref(), known.note(subject), "a prompt says it");
}

#[test]
fn this_minor_version_of_triton_counts_alone_once_it_was_tried_often_enough() {
    let task = || rewrite("row-on-chip", 0);
    let mut observed: Vec<_> = (0..4).map(|_| seen(task(), "3.5.1", 1.0)).collect();
    observed.extend((0..2).map(|_| seen(task(), "3.6.0", 2.0)));
    let tally = |observed: &[Observation], triton: &str| {
        *experience(observed, Some(triton)).iter().next().unwrap().1
    };
    let before = tally(&observed, "3.6.1+git5f3c");
    assert_eq!((before.tries, before.successes), (6, 2));
    observed.push(seen(task(), "3.6.0", 2.0));
    let after = tally(&observed, "3.6.1+git5f3c");
    assert_eq!((after.tries, after.successes), (3, 3));
    let old = tally(&observed, "3.5.0");
    assert_eq!((old.tries, old.successes), (4, 0));
}

#[tokio::test]
async fn a_run_recalls_what_others_have_shown_and_not_itself() {
    let folder = tempfile::tempdir().unwrap();
    let store = crate::store::SqliteStore::open(&folder.path().join("x.db")).await.unwrap();
    let mut story = Story::new();
    story.timed(&story.baseline(), rewrite("row-on-chip", 0), 50.0);
    let here = circumstances();
    assert_eq!(remember(&store, &here, &story.0).await.unwrap(), 1);
    assert_eq!(remember(&store, &here, &story.0).await.unwrap(), 0, "twice is once");
    assert_eq!(recall(&store, &here).await.unwrap(), Experience::default());

    let next = Circumstances { run: "next".into(), ..here.clone() };
    let recalled = recall(&store, &next).await.unwrap();
    let tally = recalled.of("row-on-chip", &here.operator, "sm_90").unwrap();
    assert_eq!((tally.tries, tally.successes), (1, 1));
    for elsewhere in [
        Circumstances { arch: "sm_80".into(), ..next.clone() },
        Circumstances { operator: "dot+loop/f16:2".into(), ..next },
    ] {
        assert_eq!(recall(&store, &elsewhere).await.unwrap(), Experience::default());
    }
}
