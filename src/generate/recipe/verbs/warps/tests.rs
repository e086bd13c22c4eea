use crate::generate::recipe::{applicable_places, fixtures::*, verbs::warps::Warps};
use crate::kernel::syntax::Source;

#[test]
fn the_keyword_is_changed_where_the_launch_has_it() {
    let changed = after("warps 8", PRODUCT);
    assert_eq!(changes(PRODUCT, &changed), ["-        num_warps=4,", "+        num_warps=8,"]);
}

#[test]
fn the_keyword_is_added_where_the_launch_lacks_it() {
    assert!(after("warps 8", SCALE_ROWS).contains("1e-6, TILE=TILE, num_warps=8)\n"));
    let trailing = SCALE_ROWS.replace("TILE=TILE)", "TILE=TILE,)");
    assert!(after("warps 8", &trailing).contains("TILE=TILE, num_warps=8)\n"));
}

#[test]
fn a_launch_with_a_line_for_each_argument_gets_another_line() {
    let bare = PRODUCT.replace("        num_warps=4,\n", "");
    let changed = after("warps 2", &bare);
    assert_eq!(changes(&bare, &changed), ["+        num_warps=2,"]);
}

#[test]
fn a_number_that_the_host_computes_gives_way() {
    let computed = PRODUCT.replace("num_warps=4", "num_warps=4 if M > 64 else 2");
    assert!(after("warps 8", &computed).contains("        num_warps=8,\n"));
}

#[test]
fn nearest_counts_are_tried_first() {
    let source = Source::parse(PRODUCT).unwrap();
    let place = applicable_places(&Warps, &source, &cuda()).remove(0);
    let steps: Vec<String> = place.steps.iter().map(ToString::to_string).collect();
    assert_eq!(steps, ["warps 8", "warps 2", "warps 16", "warps 1"]);
    assert_eq!((place.line, place.current.as_deref()), (33, Some("4")));
}

#[test]
fn two_kernels_are_named() {
    let two = format!(
        "{SCALE_ROWS}\n\n@triton.jit\ndef fill(x_ptr):\n    tl.store(x_ptr, 0.0)\n\n\ndef again(x):\n    fill[(1,)](x)\n"
    );
    let changed = after("warps 1 fill", &two);
    assert_eq!(changes(&two, &changed), ["-    fill[(1,)](x)", "+    fill[(1,)](x, num_warps=1)"]);
    assert_eq!(changes(&two, &after("warps 1", &two)).len(), 4);
}

#[test]
fn counts_that_no_gpu_takes_and_autotuned_kernels_are_refused() {
    assert!(refusal("warps 3", PRODUCT).contains("what applies: 1, 2, 4, 8, 16, 32"));
    assert!(refusal("warps 8", TUNED).contains("open to change"));
    assert!(refusal("warps", PRODUCT).contains("write `warps COUNT [KERNEL[#N]]`"));
}

#[test]
fn each_number_that_branches_choose_from_can_be_set_by_itself() {
    let text = PRODUCT
        .replace(
            "    grid = (",
            "    warps = 4\n    if M > 64:\n        warps = 8 if N > 64 else 2\n    grid = (",
        )
        .replace("num_warps=4", "num_warps=warps");
    let source = Source::parse(text.as_str()).unwrap();
    let places = applicable_places(&Warps, &source, &cuda());
    let axes: Vec<_> = places.iter().map(|it| (it.axis.as_str(), it.current.as_deref())).collect();
    assert_eq!(
        axes,
        [
            ("product_kernel", None),
            ("product_kernel#1", Some("4")),
            ("product_kernel#2", Some("8")),
            ("product_kernel#3", Some("2")),
        ]
    );
    assert_eq!(
        changes(&text, &after("warps 16 product_kernel#2", &text)),
        ["-        warps = 8 if N > 64 else 2", "+        warps = 16 if N > 64 else 2"]
    );
    assert!(after("warps 16", &text).contains("num_warps=16"), "all of them");
    let refusal = refusal("warps 8 product_kernel#4", &text);
    assert!(refusal.contains("product_kernel#1, product_kernel#2, product_kernel#3"), "{refusal}");
}
