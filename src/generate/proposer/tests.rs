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
        assert_eq!(proposer(DeviceKind::Cuda, 1).seeds(text, None, 40).len(), 40);
        assert_eq!(proposer(DeviceKind::Cpu, 1).seeds(text, None, 15).len(), 15);
    }
}

#[test]
fn every_proposal_is_new_and_is_what_its_recipe_makes() {
    for text in KERNELS {
        let seeds = proposer(DeviceKind::Cuda, 1).seeds(text, None, 60);
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
    let run = |seed| texts(&proposer(DeviceKind::Cuda, seed).seeds(PRODUCT, None, 40));
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn the_first_seeds_cover_the_verbs_and_none_takes_too_much() {
    let seeds = proposer(DeviceKind::Cuda, 1).seeds(PRODUCT, None, 60);
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
    let seeds = proposer(DeviceKind::Cpu, 1).seeds(SCALE_ROWS, None, 40);
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
    let seeds = proposer.seeds(SCALE_ROWS, None, 30);
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
        details: vec![],
        amplification: None,
    };
    let children = proposer(DeviceKind::Cuda, 1).children(SCALE_ROWS, None, Some(&diagnosis), 4);
    let first: Vec<&str> =
        children.iter().map(|child| child.recipe.steps()[0].verb.as_str()).collect();
    assert_eq!(first, ["pipeline", "pipeline", "warps", "warps"]);
}

fn suggesting(suggestions: &[&str]) -> Diagnosis {
    Diagnosis {
        class: BottleneckClass::Latency,
        findings: vec![],
        suggestions: suggestions.iter().map(|text| (*text).to_owned()).collect(),
        details: vec![],
        amplification: None,
    }
}

#[test]
fn the_baselines_diagnosis_orders_the_seeds_and_leaves_none_out() {
    let spilled = suggesting(&["warps 16", "stages fewer", "task tiling"]);
    let seeds = proposer(DeviceKind::Cuda, 1).seeds(PRODUCT, Some(&spilled), 60);
    let first = texts(&seeds[..3]);
    assert!(first[0].starts_with("warps 16"), "{first:?}");
    assert!(first.iter().any(|text| text.starts_with("stages")), "{first:?}");
    let without = proposer(DeviceKind::Cuda, 1).seeds(PRODUCT, None, 60);
    let kinds = |seeds: &[Offspring]| verbs(&seeds[..20]).into_keys().collect::<Vec<_>>();
    assert_eq!(kinds(&seeds), kinds(&without), "every axis is still looked at early");
}

#[test]
fn a_direction_decides_which_values_come_first() {
    let tile = |direction: &str| -> Vec<i64> {
        let diagnosis = suggesting(&[direction]);
        let source = SCALE_ROWS;
        let children = proposer(DeviceKind::Cuda, 1).children(source, None, Some(&diagnosis), 3);
        let value =
            |text: String| text.strip_prefix("tile TILE=").map(|value| value.parse().unwrap());
        texts(&children).into_iter().filter_map(value).collect()
    };
    let now = 64;
    let (larger, smaller) = (tile("tile larger"), tile("tile smaller"));
    assert!(larger[0] > now && smaller[0] < now, "{larger:?} {smaller:?}");
}

#[test]
fn only_editable_symbols_are_touched() {
    let context = Context::new(DeviceKind::Cuda).with_editable(Some(vec!["product_kernel".into()]));
    let seeds = Proposer::new(context, 1).seeds(PRODUCT, None, 60);
    let (_, host) = PRODUCT.split_once("def kernel_function").unwrap();
    assert!(!seeds.is_empty() && seeds.iter().all(|child| child.source.ends_with(host)));
}

#[test]
fn a_source_without_a_kernel_gives_nothing() {
    assert!(proposer(DeviceKind::Cuda, 1).seeds("x = 1\n", None, 10).is_empty());
    assert!(proposer(DeviceKind::Cuda, 1).seeds("def (:\n", None, 10).is_empty());
}

#[test]
fn a_limit_is_not_taken_for_the_number_of_chunks() {
    let split = Recipe::parse("split 16 below 640").unwrap();
    let parent = split.apply(SCALE_ROWS, &Context::new(DeviceKind::Cuda)).unwrap();
    let children = |direction: &str| {
        let diagnosis = suggesting(&[direction]);
        texts(&proposer(DeviceKind::Cuda, 1).children(&parent, None, Some(&diagnosis), 3))
    };
    assert_eq!(children("split more")[..2], ["split 64", "split 32"]);
    assert_eq!(children("split fewer")[..3], ["split 4", "split 8", "split 2"]);
}
