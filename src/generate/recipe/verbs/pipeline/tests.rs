use crate::generate::recipe::fixtures::*;

#[test]
fn a_loop_that_loads_gets_stages_of_its_own() {
    let changed = after("pipeline start 3", PRODUCT);
    assert!(changed.contains("for start in tl.range(0, K, TK, num_stages=3):"));
}

#[test]
fn it_goes_with_unrolling_in_either_order() {
    let both = after("pipeline start 3; unroll start 2", SCALE_ROWS);
    assert!(both.contains("tl.range(0, width, TILE, num_stages=3, loop_unroll_factor=2)"));
    let other = after("unroll start 2; pipeline start 3", SCALE_ROWS);
    assert!(other.contains("tl.range(0, width, TILE, loop_unroll_factor=2, num_stages=3)"));
    assert!(refusal("unroll start 2; unroll start full", SCALE_ROWS).contains("does not apply"));
}

#[test]
fn a_loop_without_loads_has_nothing_to_pipeline() {
    let idle = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(p, n):\n    for i in range(n):\n        tl.store(p + i, i)\n";
    assert!(refusal("pipeline i 3", idle).contains("loads nothing"));
    assert!(refusal("pipeline start 9", PRODUCT).contains("what applies: 1, 2"));
}
