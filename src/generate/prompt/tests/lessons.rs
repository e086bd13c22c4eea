//! Experience as a prompt tells it.

use super::*;
use crate::generate::task::{Experience, Known, Standing, Subject, Tally};

fn tally(task: &str, operator: &str, tries: u32, successes: u32, gain: f64) -> (Subject, Tally) {
    let subject = Subject { task: task.into(), operator: operator.into(), arch: "sm_90".into() };
    (subject, Tally { tries, successes, median_gain: Some(gain) })
}

#[test]
fn what_helped_comes_by_gain_and_what_to_avoid_by_tries() {
    let experience: Experience = [
        tally("a", "softmax", 4, 2, 1.3),
        tally("b", "softmax", 1, 1, 2.0),
        tally("c", "softmax", 3, 0, 1.0),
        tally("d", "softmax", 9, 1, 5.0),
        tally("e", "softmax", 1, 0, 1.0),
        tally("f", "matvec", 4, 4, 9.0),
    ]
    .into_iter()
    .collect();
    let (helped, avoid) = lessons(&experience, "softmax", "sm_90");
    let names = |lessons: &[Lesson]| lessons.iter().map(|it| it.step.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(&helped), names(&avoid)),
        (vec!["b".into(), "a".into()], vec!["d".into(), "c".into()])
    );
    assert!(lessons(&experience, "softmax", "sm_80").0.is_empty());
}

#[test]
fn eight_lessons_of_a_kind_are_enough() {
    let experience = (0..20).map(|at| tally(&at.to_string(), "op", 1, 1, 1.0 + f64::from(at)));
    let (helped, _) = lessons(&experience.collect(), "op", "sm_90");
    assert_eq!((helped.len(), helped[0].step.as_str()), (8, "19"));
}

#[test]
fn what_went_wrong_is_told_before_it_was_tried_often_enough_to_be_avoided() {
    let note = "correctness: the last tile is wrong where it is ragged";
    let known = |task: &str, successes: u32, note: Option<&str>| {
        let (subject, tally) = tally(task, "softmax", 2, successes, 1.4);
        Known { subject, tally, note: note.map(str::to_owned) }
    };
    let experience: Experience = [
        known("instructive", 0, Some(note)),
        known("helpful", 1, Some(note)),
        known("without consequence", 0, None),
    ]
    .into_iter()
    .collect();
    let (helped, avoid) = lessons(&experience, "softmax", "sm_90");
    assert_eq!((helped.len(), avoid.len()), (1, 1));
    assert_eq!((helped[0].step.as_str(), helped[0].note.as_deref()), ("helpful", Some(note)));
    assert_eq!((avoid[0].step.as_str(), avoid[0].note.as_deref()), ("instructive", Some(note)));
    assert_eq!(avoid[0].standing, Standing::Open);

    let json = serde_json::to_string(&experience).unwrap();
    assert_eq!(serde_json::from_str::<Experience>(&json).unwrap(), experience);
}
