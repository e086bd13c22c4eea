use crate::generate::recipe::{applicable_places, fixtures::*, verbs::evict::Evict};
use crate::kernel::syntax::Source;

#[test]
fn a_pointer_means_every_access_through_it_and_a_number_one_of_them() {
    let all = after("evict first x_ptr", SCALE_ROWS);
    assert_eq!(all.matches("other=0.0, eviction_policy=\"evict_first\")").count(), 2);
    let second = after("evict last x_ptr#2", SCALE_ROWS);
    assert_eq!(changes(SCALE_ROWS, &second).len(), 2);
    let (head, tail) = second.split_once("length = ").unwrap();
    assert!(!head.contains("evict_last") && tail.contains("eviction_policy=\"evict_last\""));
}

#[test]
fn a_policy_that_is_there_is_changed_and_taken_back() {
    let changed = after("evict first x_ptr#1; evict last x_ptr#1", SCALE_ROWS);
    assert!(changed.contains("evict_last") && !changed.contains("evict_first"));
    let back = after("evict first out_ptr; evict normal out_ptr", SCALE_ROWS);
    assert!(back.contains("eviction_policy=\"\""));
    assert!(refusal("evict normal x_ptr", SCALE_ROWS).contains("changes nothing"));
}

#[test]
fn addresses_computed_before_and_walked_in_a_loop_lead_to_their_pointer() {
    let walked = SCALE_ROWS
        .replace("    total = tl.zeros", "    cursor = x_ptr + row * width\n    total = tl.zeros")
        .replace("tl.load(x_ptr + row * width + at", "tl.load(cursor + at");
    let changed = after("evict first x_ptr", &walked);
    assert_eq!(changed.matches("evict_first").count(), 2);
}

#[test]
fn strides_are_no_pointers() {
    let source = Source::parse(PRODUCT).unwrap();
    let places = applicable_places(&Evict, &source, &cuda());
    let axes: Vec<&str> = places.iter().map(|place| place.axis.as_str()).collect();
    assert_eq!(axes, ["a_ptr", "b_ptr", "c_ptr"]);
}

#[test]
fn unknown_pointers_and_policies_are_refused_with_what_there_is() {
    assert!(refusal("evict first z", ADD).contains("what applies: x_ptr, y_ptr, out_ptr"));
    assert!(refusal("evict never x_ptr", ADD).contains("what applies: first, last, normal"));
    assert!(refusal("evict first", ADD).contains("write `evict first|last|normal POINTER[#N]`"));
}
