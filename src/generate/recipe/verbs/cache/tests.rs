use crate::generate::recipe::fixtures::*;

#[test]
fn loads_and_stores_get_their_cache_operator() {
    let changed = after("cache cg x_ptr; cache cs out_ptr", ADD);
    assert!(changed.contains("tl.load(x_ptr + offsets, mask=inside, cache_modifier=\".cg\")"));
    assert!(changed.contains("x + y, mask=inside, cache_modifier=\".cs\")"));
}

#[test]
fn a_load_does_not_stream_out_and_says_what_it_takes() {
    let refusal = refusal("cache cs x_ptr", ADD);
    assert!(refusal.contains("a load (line 12) does not take `cs`"), "{refusal}");
    assert!(refusal.contains("what applies: ca, cg, cv, default"), "{refusal}");
}

#[test]
fn hints_of_both_kinds_live_side_by_side() {
    let changed = after("cache cg x_ptr; evict first x_ptr; cache ca x_ptr", ADD);
    assert!(
        changed.contains("mask=inside, cache_modifier=\".ca\", eviction_policy=\"evict_first\")")
    );
}
