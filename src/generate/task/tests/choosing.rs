//! Which task comes next.

use std::collections::BTreeSet;

use super::*;
use crate::kernel::CandidateId;

fn library(tasks: &[(&str, &str, &str)]) -> Library {
    let mut library = Library::default();
    for (name, axis, when) in tasks {
        let text = format!(
            "name = '{name}'\naxis = '{axis}'\ntitle = 't'\ninstruction = 'i'\ncost = 'c'\nexemplar = 'x'\npitfalls = 'p'\n[when]\n{when}"
        );
        library.add(&format!("{name}.toml"), &text).unwrap();
    }
    library
}

fn names(chosen: &[Chosen<'_>]) -> Vec<String> {
    chosen.iter().map(|it| it.task.name.clone()).collect()
}

struct Run<'a> {
    library: Library,
    selector: Selector,
    experience: Experience,
    situation: Situation<'a>,
    parents: usize,
}

impl<'a> Run<'a> {
    fn new(library: Library, situation: Situation<'a>) -> Self {
        let (selector, experience) = (Selector::new(7), Experience::default());
        Self { library, selector, experience, situation, parents: 0 }
    }

    /// Tasks for a new parent.
    fn next(&mut self, at_most: usize) -> Vec<String> {
        self.parents += 1;
        self.for_parent(self.parents, at_most)
    }

    fn for_parent(&mut self, parent: usize, at_most: usize) -> Vec<String> {
        let parent = CandidateId::of(&parent.to_string());
        let (selector, library) = (&mut self.selector, &self.library);
        names(&selector.choose(library, &self.situation, &self.experience, "op", &parent, at_most))
    }
}

fn tally(task: &str, tries: u32, successes: u32, gain: f64) -> (Subject, Tally) {
    let subject =
        Subject { task: task.to_owned(), operator: "op".to_owned(), arch: "sm_90".to_owned() };
    (subject, Tally { tries, successes, median_gain: Some(gain) })
}

#[test]
fn every_axis_has_its_turn_before_one_comes_again() {
    let cases = cases();
    let mut run = Run::new(Library::embedded().unwrap(), situation(SOFTMAX, &cases));
    let applicable: BTreeSet<Axis> =
        run.library.iter().filter(|it| it.when.holds(&run.situation)).map(|it| it.axis).collect();
    let chosen = run.next(applicable.len());
    let axes: BTreeSet<Axis> =
        chosen.iter().map(|name| run.library.get(name).unwrap().axis).collect();
    assert_eq!(axes, applicable);
    assert!(run.selector.coverage().values().all(|tries| *tries == 1));
}

#[test]
fn choices_depend_on_seed_and_history_alone() {
    let cases = cases();
    let choose = |seed| {
        let mut run = Run::new(Library::embedded().unwrap(), situation(SOFTMAX, &cases));
        run.selector = Selector::new(seed);
        [run.next(3), run.next(4)]
    };
    assert_eq!(choose(1), choose(1));
    assert!((2..9).any(|seed| choose(seed) != choose(1)));
}

#[test]
fn a_resumed_run_goes_on_as_if_it_had_not_stopped() {
    let cases = cases();
    let mut whole = Run::new(Library::embedded().unwrap(), situation(SOFTMAX, &cases));
    whole.next(3);
    let mut resumed = Run::new(Library::embedded().unwrap(), situation(SOFTMAX, &cases));
    for attempt in whole.selector.attempts().to_vec() {
        resumed.selector.remember(attempt);
    }
    resumed.parents = 1;
    assert_eq!(resumed.next(3), whole.next(3));
}

#[test]
fn no_task_comes_twice_for_one_parent() {
    let library = library(&[("a", "fusion", ""), ("b", "fusion", "")]);
    let mut run = Run::new(library, situation(SOFTMAX, &[]));
    assert_eq!(run.for_parent(1, 5).len(), 2);
    assert_eq!(run.for_parent(1, 5), Vec::<String>::new());
    assert_eq!(run.for_parent(2, 5).len(), 2);
}

#[test]
fn the_diagnosis_orders_what_was_tried_equally_often() {
    let library = library(&[
        ("plain", "algebra", ""),
        ("fits", "fusion", "bottlenecks = ['launch_overhead']"),
        ("half", "tiling", "bottlenecks = ['register_spills']"),
        ("other", "layout", "classes = ['compute']"),
    ]);
    let found = [(Bottleneck::LaunchOverhead, 0.6), (Bottleneck::RegisterSpills, 0.1)];
    let launch = diagnosis(BottleneckClass::Launch, &found);
    let mut run = Run::new(library, situation(SOFTMAX, &[]));
    run.situation.diagnosis = Some(&launch);
    assert_eq!(run.next(4), ["fits", "half", "plain", "other"]);
    let reasons: Vec<String> = {
        let parent = CandidateId::of("x");
        let mut fresh = Selector::new(7);
        let chosen = fresh.choose(&run.library, &run.situation, &run.experience, "op", &parent, 4);
        chosen.into_iter().map(|it| it.reason).collect()
    };
    assert_eq!(reasons[0], "fusion was not tried yet; the diagnosis speaks for it");
    assert_eq!(reasons[3], "layout was not tried yet; the diagnosis speaks against it");
}

#[test]
fn a_suggested_axis_counts_as_evidence() {
    let library =
        library(&[("plain", "algebra", ""), ("asked", "memory-traffic", "classes = ['compute']")]);
    let mut memory = diagnosis(BottleneckClass::Memory, &[]);
    memory.suggestions = vec!["tile larger".to_owned(), "task memory-traffic".to_owned()];
    let mut run = Run::new(library, situation(SOFTMAX, &[]));
    run.situation.diagnosis = Some(&memory);
    assert_eq!(run.next(2), ["asked", "plain"]);
}

#[test]
fn what_the_diagnosis_speaks_against_waits_but_comes() {
    let library =
        library(&[("fits", "algebra", ""), ("against", "fusion", "classes = ['launch']")]);
    let memory = diagnosis(BottleneckClass::Memory, &[]);
    let mut run = Run::new(library, situation(SOFTMAX, &[]));
    run.situation.diagnosis = Some(&memory);
    let order: Vec<String> = (0..4).flat_map(|_| run.next(1)).collect();
    assert_eq!(order, ["fits", "fits", "fits", "against"]);
}

#[test]
fn experience_orders_and_defers() {
    let library = library(&[("good", "algebra", ""), ("new", "fusion", ""), ("bad", "tiling", "")]);
    let mut run = Run::new(library, situation(SOFTMAX, &[]));
    run.experience = [tally("good", 4, 4, 1.8), tally("bad", 10, 1, 3.0)].into_iter().collect();
    assert_eq!(run.next(3), ["good", "new", "bad"]);
    let order: Vec<String> = (0..5).flat_map(|_| run.next(1)).collect();
    assert!(!order.contains(&"bad".to_owned()), "{order:?}");
    // Experience of another operator or GPU says nothing.
    run.situation.arch = Some("sm_80".parse().unwrap());
    assert_eq!(run.next(1), ["bad"]);
}

#[test]
fn experience_of_the_interpreter_counts_in_the_interpreter() {
    let tasks = [("a", "tiling", ""), ("b", "fusion", "")];
    let mut run = Run::new(library(&tasks), Situation { arch: None, ..situation(SOFTMAX, &[]) });
    let (mut subject, known) = tally("b", 4, 4, 3.0);
    subject.arch = "cpu".to_owned();
    run.experience = [tally("a", 4, 4, 9.0), (subject, known)].into_iter().collect();
    assert_eq!(run.next(2), ["b", "a"]);
}

#[test]
fn a_task_is_avoided_below_thirty_percent_from_three_tries_on() {
    let standing = |tries, successes| Tally { tries, successes, median_gain: None }.standing();
    assert_eq!(standing(0, 0), Standing::Open);
    assert_eq!(standing(2, 0), Standing::Open);
    assert_eq!(standing(3, 0), Standing::Avoid);
    assert_eq!(standing(4, 1), Standing::Avoid);
    assert_eq!(standing(3, 1), Standing::Use);
    assert_eq!(standing(10, 3), Standing::Use);
}

#[test]
fn when_attempts_collapse_onto_two_axes_others_are_forced() {
    let library = library(&[
        ("one", "algebra", ""),
        ("two", "fusion", ""),
        ("third", "tiling", "classes = ['launch']"),
    ]);
    let memory = diagnosis(BottleneckClass::Memory, &[]);
    let mut run = Run::new(library, situation(SOFTMAX, &[]));
    run.situation.diagnosis = Some(&memory);
    run.experience = [tally("third", 5, 0, 1.0)].into_iter().collect();
    // Two waits for the diagnosis and four for experience would put it off for six rounds.
    let order: Vec<String> = (0..6).flat_map(|_| run.next(1)).collect();
    assert!(!order.contains(&"third".to_owned()), "{order:?}");
    let collapsed = run.selector.meltdown().unwrap();
    assert_eq!(collapsed, [Axis::Algebra, Axis::Fusion].into());
    assert_eq!(run.next(1), ["third"]);
    assert_eq!(run.selector.meltdown(), None);
}

#[test]
fn with_nothing_else_to_try_a_collapse_is_accepted() {
    let mut run = Run::new(library(&[("one", "algebra", "")]), situation(SOFTMAX, &[]));
    let order: Vec<String> = (0..8).flat_map(|_| run.next(1)).collect();
    assert_eq!(order, ["one"; 8]);
}

#[test]
fn without_experience_the_promised_gain_orders() {
    let text = |name: &str, axis: &str, gain: &str| {
        format!(
            "name = '{name}'\naxis = '{axis}'\n{gain}\ntitle = 't'\ninstruction = 'i'\ncost = 'c'\nexemplar = 'x'\npitfalls = 'p'"
        )
    };
    let mut library = Library::default();
    for (name, axis, gain) in
        [("a", "algebra", ""), ("b", "fusion", "gain = 3.0"), ("c", "tiling", "gain = 1.5")]
    {
        library.add(&format!("{name}.toml"), &text(name, axis, gain)).unwrap();
    }
    let mut run = Run::new(library, situation(SOFTMAX, &[]));
    assert_eq!(run.for_parent(1, 3), ["b", "c", "a"]);
    // What was measured outweighs what was promised.
    run.experience = [tally("a", 5, 5, 2.5), tally("b", 2, 0, 1.0)].into_iter().collect();
    assert_eq!(run.for_parent(2, 3), ["a", "b", "c"]);
}
