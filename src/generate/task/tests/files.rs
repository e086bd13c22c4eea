//! Task files, ours and a maintainer's.

use std::collections::BTreeSet;

use super::*;

const TASK: &str = r#"
name = "fewer-launches"
axis = "fusion"
title = "Launch less"
instruction = "Join them."
cost = "None."
exemplar = "x = 1"
pitfalls = "Many."

[when]
has = ["several-launches"]
"#;

fn refusal(from: &str, to: &str) -> String {
    assert!(TASK.contains(from));
    ExpertTask::parse("my/fewer-launches.toml", &TASK.replace(from, to)).unwrap_err().to_string()
}

#[test]
fn the_embedded_tasks_cover_every_axis() {
    let library = Library::embedded().unwrap();
    assert!(library.iter().count() >= 24);
    let axes: BTreeSet<Axis> = library.iter().map(|task| task.axis).collect();
    assert_eq!(axes, Axis::ALL.into_iter().collect());
    for task in library.iter() {
        assert!(task.instruction.len() > 200, "{} says too little", task.name);
        assert!(task.exemplar.contains("@triton.jit"), "{}", task.name);
    }
}

#[test]
fn an_axis_is_written_as_it_is_named() {
    for axis in Axis::ALL {
        assert_eq!(serde_json::to_value(axis).unwrap(), axis.name());
    }
}

#[test]
fn every_task_that_a_diagnosis_suggests_is_on_an_axis() {
    let suggested = [
        "memory-traffic",
        "tiling",
        "work-partitioning",
        "fusion",
        "tensor-cores",
        "launch-configuration",
        "reduction",
        "algebra",
    ];
    for name in suggested {
        assert!(Axis::ALL.iter().any(|axis| axis.name() == name), "{name}");
    }
}

#[test]
fn a_maintainers_folder_adds_and_replaces_tasks() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fewer-launches.toml"), TASK).unwrap();
    let ours = TASK.replace("fewer-launches", "grouped-order").replace("Launch less", "Our order");
    std::fs::write(folder.path().join("grouped-order.toml"), ours).unwrap();
    std::fs::write(folder.path().join("README.md"), "not a task").unwrap();
    let mut library = Library::embedded().unwrap();
    let before = library.iter().count();
    library.add_folder(folder.path()).unwrap();
    assert_eq!(library.iter().count(), before + 1);
    assert_eq!(library.get("grouped-order").unwrap().title, "Our order");
    assert_eq!(library.get("fewer-launches").unwrap().axis, Axis::Fusion);
}

#[test]
fn a_folder_without_tasks_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut library = Library::default();
    let error = library.add_folder(folder.path()).unwrap_err().to_string();
    assert!(error.contains("no task file (NAME.toml) is in it"), "{error}");
    let error = library.add_folder(&folder.path().join("missing")).unwrap_err().to_string();
    assert!(error.contains("missing") && error.contains("give a folder"), "{error}");
}

#[test]
fn mistakes_are_named_with_file_and_line() {
    let error = refusal("cost = ", "costs = ");
    assert!(error.starts_with("my/fewer-launches.toml, line 6: unknown field `costs`"), "{error}");
    let error = refusal("\"fusion\"", "\"fussion\"");
    assert!(
        error.starts_with("my/fewer-launches.toml, line 3: unknown variant `fussion`"),
        "{error}"
    );
    assert!(error.contains("warp-specialization"), "{error}");
    let error = refusal("has = [\"several-launches\"]", "has = [\"loops\"]");
    assert!(error.contains("line 11: unknown variant `loops`"), "{error}");
    let error = refusal("has = ", "hat = ");
    assert!(error.contains("line 11: unknown field `hat`"), "{error}");
    let error = refusal("\"Launch less\"", "\"\"");
    assert!(error.contains("line 4: title is empty"), "{error}");
    let error = refusal("\"x = 1\"", "\"x = (1\"");
    assert!(error.contains("line 7: the exemplar is not Python"), "{error}");
    let error = refusal("name = \"fewer-launches\"", "name = \"fewer\"");
    assert!(
        error.contains("line 2: the name is \"fewer\", the file's is \"fewer-launches\""),
        "{error}"
    );
    let error = refusal("[when]", "[when]\nlacks = [\"several-launches\"]");
    assert!(error.contains("it never applies"), "{error}");
    let error = refusal("[when]", "[when]\narch = \"hopper\"");
    assert!(error.contains("line 11") && error.contains("sm_80 for 8.0"), "{error}");
    let error = refusal("axis = \"fusion\"", "axis = \"fusion\"\ngain = 0.9");
    assert!(error.contains("line 4: gain is 0.9: write a factor above 1"), "{error}");
    let error = refusal("Join them.", &"x".repeat(20_000));
    assert!(error.contains("shorten it to 16384"), "{error}");
}
