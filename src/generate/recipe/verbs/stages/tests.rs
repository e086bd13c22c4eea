use crate::generate::recipe::fixtures::*;

#[test]
fn a_kernel_with_a_loop_gets_its_stages() {
    let changed = after("stages 4", PRODUCT);
    assert_eq!(changes(PRODUCT, &changed), ["+        num_stages=4,"]);
    assert!(after("stages 4; stages 2", PRODUCT).contains("        num_stages=2,\n"));
}

#[test]
fn a_kernel_without_a_loop_has_nothing_to_pipeline() {
    assert!(refusal("stages 2", ADD).contains("no such kernel with a loop"));
}

#[test]
fn a_launch_that_hides_its_options_is_left_alone() {
    let splat = PRODUCT.replace("num_warps=4,", "**options,");
    assert!(refusal("stages 2", &splat).contains("open to change"));
}
