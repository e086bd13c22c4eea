use std::sync::LazyLock;

use super::{fixtures::*, *};
use crate::kernel::syntax::Source;

/// Every step that is proposed for any of the kernels, with the kernel and what it makes of it.
static PROPOSED: LazyLock<Vec<(&str, Step, String)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for text in ALL {
        let source = Source::parse(text).unwrap();
        for verb in VERBS {
            let steps = verb.places(&source, &cuda()).into_iter().flat_map(|place| place.steps);
            all.extend(steps.filter_map(|step| {
                let changed = apply_step(&source, &step, &cuda()).ok()?;
                Some((text, step, changed.text().to_owned()))
            }));
        }
    }
    all
});

fn with_crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

#[test]
fn a_recipe_reads_back_as_it_is_written() {
    let text = "tile BLOCK_K=512 BLOCK_M=16; warps 8; evict first x_ptr; unroll c 4";
    assert_eq!(Recipe::parse(text).unwrap().to_string(), text);
    let loose = "  tile  BLOCK_K=512\tBLOCK_M=16 ;;warps 8\nevict first x_ptr;\nunroll c 4\n;";
    assert_eq!(Recipe::parse(loose).unwrap().to_string(), text);
}

#[test]
fn every_step_that_is_proposed_reads_back_and_applies_as_text() {
    assert!(PROPOSED.len() > 100);
    for (text, step, changed) in PROPOSED.iter() {
        let read: Step = step.to_string().parse().unwrap();
        assert_eq!(read, *step);
        assert_ne!(changed, text, "{step}");
    }
}

#[test]
fn an_unknown_verb_is_answered_with_the_nearest_and_all_of_them() {
    let message = refusal("tiles BLOCK=512", ADD);
    assert!(message.starts_with("there is no verb `tiles`, did you mean `tile`?"), "{message}");
    assert!(message.contains("; the verbs are tile, split, warps, "), "{message}");
    assert!(!refusal("vectorise x", ADD).contains("did you mean"));
    assert_eq!(refused(" ; ", ADD), RecipeError::Empty);
    assert!(refusal("tile BLOCK=", ADD).contains("`BLOCK=` lacks a name or a value"));
}

#[test]
fn what_is_no_python_is_refused_before_the_first_step() {
    assert!(refusal("warps 8", "def f(:\n").starts_with("line 1: not valid Python"));
}

#[test]
fn steps_build_on_each_other_and_each_must_change_something() {
    assert!(after("tile TILE=128; tile TILE=256", SCALE_ROWS).contains("TILE = 256"));
    assert!(refusal("warps 8; warps 8", SCALE_ROWS).contains("`warps 8` changes nothing"));
}

#[test]
fn windows_line_ends_and_a_missing_last_one_stay_as_they_are() {
    for (text, step, changed) in PROPOSED.iter() {
        let step = step.to_string();
        assert_eq!(after(&step, &with_crlf(text)), with_crlf(changed), "{step}");
        assert_eq!(after(&step, text.trim_end()), changed.trim_end(), "{step}");
    }
}

#[test]
fn lines_that_a_step_does_not_name_stay_byte_for_byte() {
    for (text, step, _) in PROPOSED.iter() {
        // Odd spacing, comments and quotes are what a reformatting edit would lose.
        let odd = text
            .replace(", n", ",   n")
            .replace("    out = ", "    # kept  as it is\t\n    out = ");
        let changed = after(&step.to_string(), &odd);
        let removed = |line: &&String| line.starts_with('-');
        let touched = changes(&odd, &changed).iter().filter(removed).count();
        let most = if matches!(step.verb.as_str(), "autotune" | "split") { 8 } else { 3 };
        assert!(touched <= most, "{step} touches {touched} lines");
        assert!(changed.contains("# kept  as it is\t\n") || !odd.contains("# kept"), "{step}");
    }
}

#[test]
fn only_what_may_be_edited_is_edited() {
    let only = |symbol: &str| cuda().with_editable(Some(vec![symbol.to_owned()]));
    let apply = |recipe: &str, context: &Context| {
        Recipe::parse(recipe).unwrap().apply(PRODUCT, context).map_err(|error| error.to_string())
    };
    assert!(apply("tile TK=64", &only("product_kernel")).is_ok());
    let refusal = apply("tile TM=128", &only("product_kernel")).unwrap_err();
    assert_eq!(
        refusal,
        "`tile TM=128` would change line 27, which lies outside what may be edited (product_kernel)"
    );
    assert!(apply("tile TM=128", &only("kernel_function")).is_ok());
    let listed = listing(&Source::parse(PRODUCT).unwrap(), &only("kernel_function"));
    assert!(listed.iter().find(|verb| verb.verb == "evict").unwrap().places.is_empty());
}

#[test]
fn the_listing_names_verbs_places_lines_and_values() {
    let source = Source::parse(PRODUCT).unwrap();
    let text = render_listing(&listing(&source, &cuda()));
    assert!(text.contains("tile NAME[#N]=VALUE [NAME[#N]=VALUE …]  ("), "{text}");
    assert!(text.contains("  line 27: TM of product_kernel, set in kernel_function, now 64\n    tile TM=128 | tile TM=256"), "{text}");
    let idle = text.lines().last().unwrap();
    assert!(idle.starts_with("without a place here: ") && idle.contains("autotune"), "{text}");
}

#[test]
fn whoever_knows_the_verbs_is_told_one_step_a_place() {
    let told = render_examples(&listing(&Source::parse(PRODUCT).unwrap(), &cuda()));
    let tile = "tile TM=128 (line 27, now 64) | tile TN=64 (line 27, now 32) | tile TK=64 (line 10, now 32)";
    assert_eq!(told.lines().next(), Some(tile), "{told}");
    assert!(told.lines().any(|line| line == "warps 8 (line 33, now 4)"), "{told}");
    let many = (0..40).map(|at| format!("    tl.store(c_ptr + {at}, 0.0)\n")).collect::<String>();
    let told = render_examples(&listing(
        &Source::parse(PRODUCT.replace("    where = c_ptr", &format!("{many}    where = c_ptr")))
            .unwrap(),
        &cuda(),
    ));
    let evict = told.lines().find(|line| line.starts_with("evict")).unwrap();
    assert!(evict.ends_with(" more") && evict.matches(" | ").count() == 12, "{evict}");
}
