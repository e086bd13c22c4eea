use crate::generate::recipe::fixtures::*;

#[test]
fn an_index_that_begins_at_a_multiple_of_its_tile_is_said_to() {
    assert!(after("hint contiguous offsets", ADD).contains(
        "offsets = tl.max_contiguous(tl.multiple_of(pid * BLOCK + tl.arange(0, BLOCK), BLOCK), BLOCK)\n"
    ));
    assert!(after("hint contiguous i", PRODUCT).contains(
        "i = tl.max_contiguous(tl.multiple_of(tl.program_id(0) * TM + tl.arange(0, TM), TM), TM)\n"
    ));
}

#[test]
fn so_does_one_that_a_loop_walks_from_zero_by_its_tile() {
    let changed = after("hint contiguous at#2", SCALE_ROWS);
    let (head, tail) = changed.split_once("length = ").unwrap();
    assert!(
        !head.contains("multiple_of")
            && tail.contains("multiple_of(start + tl.arange(0, TILE), TILE)")
    );
}

#[test]
fn nothing_is_said_that_is_not_true_by_definition() {
    let shifted = SCALE_ROWS.replace("range(0, width", "range(1, width");
    assert!(refusal("hint contiguous at", &shifted).contains("does not apply"));
    let other = ADD.replace("pid * BLOCK", "pid * n");
    assert!(refusal("hint contiguous offsets", &other).contains("does not apply"));
    assert!(refusal("hint aligned offsets", ADD).contains("write `hint contiguous INDEX[#N]`"));
}

#[test]
fn it_is_said_once() {
    assert!(refusal("hint contiguous k; hint contiguous k", PRODUCT).contains("does not apply"));
}
