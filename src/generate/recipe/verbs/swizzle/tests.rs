use insta::assert_snapshot;

use crate::generate::recipe::fixtures::*;
use crate::generate::recipe::{applicable_places, verbs::swizzle::Swizzle};
use crate::kernel::syntax::Source;

fn steps(text: &str) -> Vec<String> {
    let source = Source::parse(text).unwrap();
    let places = applicable_places(&Swizzle, &source, &cuda());
    places.iter().flat_map(|place| place.steps.iter().map(ToString::to_string)).collect()
}

#[test]
fn programs_are_regrouped_inside_of_the_kernel() {
    let changed = changes(PRODUCT, &after("swizzle group=8", PRODUCT));
    assert_snapshot!(changed.join("\n"), @r##"
-    i = tl.program_id(0) * TM + tl.arange(0, TM)
-    j = tl.program_id(1) * TN + tl.arange(0, TN)
+    SWIZZLE_GROUP: tl.constexpr = 8
+    order = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
+    band = SWIZZLE_GROUP * tl.num_programs(1)
+    band_first = order // band * SWIZZLE_GROUP
+    band_height = tl.minimum(tl.num_programs(0) - band_first, SWIZZLE_GROUP)
+    program_0 = band_first + order % band % band_height
+    program_1 = order % band // band_height
+    i = program_0 * TM + tl.arange(0, TM)
+    j = program_1 * TN + tl.arange(0, TN)
"##);
}

#[test]
fn a_docstring_stays_first_and_names_in_use_are_left_alone() {
    let documented = PRODUCT.replace(
        "    i = tl.program_id(0)",
        "    \"\"\"A tile.\"\"\"\n    band = 1\n    i = tl.program_id(axis=0)",
    );
    let changed = after("swizzle group=4", &documented);
    assert!(
        changed.contains("\"\"\"A tile.\"\"\"\n    SWIZZLE_GROUP: tl.constexpr = 4\n"),
        "{changed}"
    );
    assert!(changed.contains("    band_2 = SWIZZLE_GROUP * tl.num_programs(1)\n"), "{changed}");
    assert!(changed.contains("    i = program_0 * TM"), "{changed}");
}

#[test]
fn the_group_is_changed_again_where_it_is_set() {
    let grouped = after("swizzle group=8", PRODUCT);
    assert_eq!(steps(PRODUCT)[..2], ["swizzle group=8", "swizzle group=4"]);
    assert_eq!(steps(&grouped)[..2], ["swizzle group=4", "swizzle group=16"]);
    let changed = changes(&grouped, &after("swizzle group=1", &grouped));
    assert_eq!(
        changed,
        ["-    SWIZZLE_GROUP: tl.constexpr = 8", "+    SWIZZLE_GROUP: tl.constexpr = 1"]
    );
}

#[test]
fn a_grid_of_one_axis_has_nothing_to_regroup() {
    assert_snapshot!(refusal("swizzle group=8", ADD), @"`swizzle group=8` does not apply: add_kernel: it does not use the first two axes of its grid");
    assert_snapshot!(refusal("swizzle group=0", PRODUCT), @"`swizzle group=0` does not apply: `0` is not a number of tiles from 1 to 1024; what applies: 8, 4, 16, 1, 2");
    assert_snapshot!(refusal("swizzle 8", PRODUCT), @"`swizzle 8`: it takes a group and perhaps a kernel's name; write `swizzle group=COUNT [KERNEL]`");
    let computed = PRODUCT.replace("tl.program_id(1)", "tl.program_id(TK - 31)");
    assert_snapshot!(refusal("swizzle group=8", &computed), @"`swizzle group=8` does not apply: product_kernel: `tl.program_id(TK - 31)` cannot be read");
}
