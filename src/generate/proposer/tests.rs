use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::generate::recipe::fixtures::{ADD, HEADS, PRODUCT, SCALE_ROWS, TUNED};
use crate::kernel::BottleneckClass;

const KERNELS: [&str; 5] = [SCALE_ROWS, PRODUCT, ADD, HEADS, TUNED];

fn proposer(device: DeviceKind, seed: u64) -> Proposer {
    Proposer::new(Context::new(device), seed)
}

fn texts(offspring: &[Offspring]) -> Vec<String> {
    offspring.iter().map(|child| child.recipe.to_string()).collect()
}

fn verbs(offspring: &[Offspring]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for child in offspring {
        *counts.entry(child.recipe.steps()[0].verb.clone()).or_default() += 1;
    }
    counts
}

#[test]
fn there_is_enough_to_try_on_a_gpu_and_in_the_interpreter() {
    for text in [SCALE_ROWS, PRODUCT, ADD, HEADS] {
        assert_eq!(proposer(DeviceKind::Cuda, 1).seeds(text, 40).len(), 40);
        assert_eq!(proposer(DeviceKind::Cpu, 1).seeds(text, 15).len(), 15);
    }
}

#[test]
fn every_proposal_is_new_and_is_what_its_recipe_makes() {
    for text in KERNELS {
        let seeds = proposer(DeviceKind::Cuda, 1).seeds(text, 60);
        let sources: HashSet<&str> = seeds.iter().map(|child| child.source.as_str()).collect();
        assert!(sources.len() == seeds.len() && !sources.contains(text));
        for child in &seeds {
            let again = child.recipe.apply(text, &Context::new(DeviceKind::Cuda)).unwrap();
            assert_eq!(again, child.source);
        }
    }
}

#[test]
fn the_same_seed_proposes_the_same_and_another_one_another_order() {
    let run = |seed| texts(&proposer(DeviceKind::Cuda, seed).seeds(PRODUCT, 40));
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn the_first_seeds_cover_the_verbs_and_none_takes_too_much() {
    let seeds = proposer(DeviceKind::Cuda, 1).seeds(PRODUCT, 60);
    let applicable = VERBS.iter().filter(|verb| {
        let source = Source::parse(PRODUCT).unwrap();
        !verb.places(&source, &Context::new(DeviceKind::Cuda)).is_empty()
    });
    let early = verbs(&seeds[..20]);
    assert_eq!(early.len(), applicable.count(), "{early:?}");
    for (verb, count) in verbs(&seeds) {
        let single = seeds.iter().filter(|child| {
            child.recipe.steps().len() == 1 && child.recipe.steps()[0].verb == verb
        });
        assert!(single.count() <= if verb == "tile" { 40 } else { 10 }, "{verb}: {count}");
    }
    assert!(seeds.iter().any(|child| child.recipe.steps().len() >= 2));
}

#[test]
fn what_the_interpreter_runs_differently_comes_first_on_the_cpu() {
    let seeds = proposer(DeviceKind::Cpu, 1).seeds(SCALE_ROWS, 40);
    let hidden = |child: &Offspring| {
        let name = child.recipe.steps()[0].verb.as_str();
        let verb = VERBS.iter().find(|verb| verb.name() == name);
        // More programs only cost time there.
        !verb.unwrap().interpreted() || name == "split"
    };
    let first_hidden = seeds.iter().position(hidden).unwrap();
    assert!(first_hidden >= 6, "{:?}", texts(&seeds));
    assert!(seeds[first_hidden..].iter().all(hidden), "{:?}", texts(&seeds));
}

#[test]
fn children_go_on_from_their_parent_and_repeat_nothing() {
    let mut proposer = proposer(DeviceKind::Cuda, 1);
    let seeds = proposer.seeds(SCALE_ROWS, 30);
    let parent = seeds.iter().find(|child| child.recipe.to_string() == "tile TILE=128").unwrap();
    let children = proposer.children(&parent.source, Some("tile TILE=128"), None, 8);
    assert_eq!(children.len(), 8);
    assert_eq!(children[0].recipe.steps()[0].verb, "tile", "{:?}", texts(&children));
    assert!(verbs(&children).len() >= 3, "{:?}", texts(&children));
    let more = proposer.children(&parent.source, Some("tile TILE=128"), None, 8);
    let known: HashSet<&str> =
        seeds.iter().chain(&children).map(|child| child.source.as_str()).collect();
    assert!(more.len() == 8 && more.iter().all(|child| !known.contains(child.source.as_str())));
}

#[test]
fn a_diagnosis_decides_where_children_look_first() {
    let diagnosis = Diagnosis {
        class: BottleneckClass::Memory,
        findings: vec!["loads wait for memory 80 % of the time".into()],
        suggestions: vec!["pipeline start 3".into(), "warps".into()],
    };
    let children = proposer(DeviceKind::Cuda, 1).children(SCALE_ROWS, None, Some(&diagnosis), 4);
    let first: Vec<&str> =
        children.iter().map(|child| child.recipe.steps()[0].verb.as_str()).collect();
    assert_eq!(first, ["pipeline", "pipeline", "warps", "warps"]);
}

#[test]
fn only_editable_symbols_are_touched() {
    let context = Context::new(DeviceKind::Cuda).with_editable(Some(vec!["product_kernel".into()]));
    let seeds = Proposer::new(context, 1).seeds(PRODUCT, 60);
    let (_, host) = PRODUCT.split_once("def kernel_function").unwrap();
    assert!(!seeds.is_empty() && seeds.iter().all(|child| child.source.ends_with(host)));
}

#[test]
fn a_source_without_a_kernel_gives_nothing() {
    assert!(proposer(DeviceKind::Cuda, 1).seeds("x = 1\n", 10).is_empty());
    assert!(proposer(DeviceKind::Cuda, 1).seeds("def (:\n", 10).is_empty());
}
