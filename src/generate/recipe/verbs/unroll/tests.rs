use crate::generate::recipe::{applicable_places, fixtures::*, verbs::unroll::Unroll};
use crate::kernel::syntax::Source;

/// Loops over a 3 × 3 window whose size is known when the kernel is compiled.
fn window() -> String {
    SCALE_ROWS
        .replace("TILE: tl.constexpr", "TILE: tl.constexpr, WINDOW: tl.constexpr")
        .replace("TILE=TILE", "TILE=TILE, WINDOW=3")
        .replacen("start in range(0, width, TILE)", "w in range(0, WINDOW)", 1)
        .replacen("start + tl", "w * TILE + tl", 1)
}

#[test]
fn a_loop_becomes_tritons_with_a_factor() {
    let changed = after("unroll start 4", SCALE_ROWS);
    assert_eq!(
        changes(SCALE_ROWS, &changed),
        [
            "-    for start in range(0, width, TILE):",
            "+    for start in tl.range(0, width, TILE, loop_unroll_factor=4):",
        ]
    );
    assert!(after("unroll start 4; unroll start 2", SCALE_ROWS).contains("loop_unroll_factor=2):"));
}

#[test]
fn the_second_loop_over_a_variable_has_its_number() {
    let changed = after("unroll start#2 8", SCALE_ROWS);
    let (head, tail) = changed.split_once("length").unwrap();
    assert!(!head.contains("tl.range") && tail.contains("tl.range"));
    assert_eq!(after("unroll start#1 8", SCALE_ROWS), after("unroll start 8", SCALE_ROWS));
}

#[test]
fn a_loop_of_fixed_length_is_written_out() {
    let changed = after("unroll w full", &window());
    assert!(changed.contains("for w in tl.static_range(0, WINDOW):"));
    let source = Source::parse(window()).unwrap();
    let steps = applicable_places(&Unroll, &source, &cuda()).remove(0).steps;
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    assert_eq!(steps, ["unroll w full", "unroll w 2"]);
}

#[test]
fn a_loop_of_unknown_or_great_length_is_not() {
    assert!(refusal("unroll start full", SCALE_ROWS).contains("what applies: 2, 4, 8"));
    let long = window().replace("WINDOW=3", "WINDOW=300");
    assert!(refusal("unroll w full", &long).contains("300 rounds are too many"));
}

#[test]
fn loops_that_are_not_there_and_odd_factors_are_refused() {
    assert!(refusal("unroll c 4", SCALE_ROWS).contains("what applies: start, start#2"));
    assert!(refusal("unroll start 1", SCALE_ROWS).contains("from 2 to 16"));
    assert!(
        refusal("unroll start", SCALE_ROWS).contains("write `unroll VARIABLE[#N] FACTOR|full`")
    );
}
