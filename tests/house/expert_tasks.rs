//! What models are shown must itself be allowed, and what maintainers are told must be so.

use kernelbrain::{
    evaluate::policy,
    generate::task::{Axis, Library},
};

#[test]
fn every_exemplar_passes_the_policy_gate() {
    let library = Library::embedded().unwrap();
    let refused: Vec<String> = library
        .iter()
        .filter_map(|task| {
            let rejection = policy::check_alone(task.exemplar.as_bytes()).err()?;
            Some(format!("{}: {rejection}", task.name))
        })
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn the_documentation_names_every_axis() {
    let text = include_str!("../../docs/generation.md");
    let line = text.lines().find(|line| line.starts_with("| `axis` |")).unwrap();
    for axis in Axis::ALL {
        assert!(line.contains(axis.name()), "{axis}");
    }
}
