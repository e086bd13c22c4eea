use crate::generate::recipe::{Verb, apply_step, fixtures::*, verbs::autotune::Autotune};
use crate::kernel::syntax::Source;

#[test]
fn a_configuration_is_added_in_the_lists_own_style() {
    let changed = after("autotune add BLOCK=1024 num_warps=8", TUNED);
    assert_eq!(
        changes(TUNED, &changed),
        ["+        triton.Config({\"BLOCK\": 1024}, num_warps=8),"]
    );
    assert!(refusal("autotune add BLOCK=128", TUNED).contains("changes nothing"));
    assert!(refusal("autotune add TILE=8", TUNED).contains("what applies: BLOCK, num_warps"));
    assert!(refusal("autotune add BLOCK=x", TUNED).contains("`x` is not a number"));
}

#[test]
fn configurations_are_pruned_from_either_end_and_from_the_middle() {
    let three = after("autotune add BLOCK=1024", TUNED);
    let config = |text: &str| text.matches("triton.Config").count();
    for (keep, gone) in [("1 2", "1024"), ("2 3", "128"), ("1 3", "512"), ("2", "1024")] {
        let pruned = after(&format!("autotune prune {keep}"), &three);
        assert_eq!(config(&pruned), keep.split(' ').count(), "{pruned}");
        assert!(!pruned.contains(&format!("\"BLOCK\": {gone}}}")), "{pruned}");
    }
    assert_eq!(after("autotune prune 1 2", &three), TUNED);
    assert!(refusal("autotune prune 1 2", TUNED).contains("changes nothing"));
    assert!(refusal("autotune prune 7", TUNED).contains("what applies: 1, 2"));
}

#[test]
fn a_fixed_choice_takes_the_decorators_place_at_the_launch() {
    let changed = after("autotune fix 2", TUNED);
    assert!(
        !changed.contains("autotune(") && changed.contains("\n\n\n@triton.jit\ndef relu_kernel")
    );
    assert!(changed.contains("relu_kernel[grid](x, out, n, BLOCK=512, num_warps=8, num_stages=2)"));
}

#[test]
fn what_was_fixed_is_open_to_the_other_verbs() {
    let changed = after("autotune fix 1; tile BLOCK=256; warps 2", TUNED);
    assert!(changed.contains("relu_kernel[grid](x, out, n, BLOCK=256, num_warps=2)"));
}

#[test]
fn an_autotuner_that_is_asked_about_itself_stays() {
    let asked = format!("{TUNED}\n\ndef best():\n    return relu_kernel.best_config\n");
    assert!(refusal("autotune fix 1", &asked).contains("asks the autotuner"));
    let hooked = TUNED.replacen("num_warps=4", "num_warps=4, pre_hook=clear", 1);
    assert!(refusal("autotune fix 1", &hooked).contains("`pre_hook`"));
}

#[test]
fn a_kernel_without_an_autotuner_has_no_configurations() {
    assert!(refusal("autotune fix 1", ADD).contains("no kernel here has an autotuner"));
    assert!(refusal("autotune", TUNED).contains("begins with `add`, `prune` or `fix`"));
}

#[test]
fn everything_that_is_proposed_applies() {
    let source = Source::parse(TUNED).unwrap();
    let proposed = Autotune.places(&source, &cuda()).remove(0).steps;
    let texts: Vec<String> = proposed.iter().map(ToString::to_string).collect();
    assert_eq!(texts[..2], ["autotune fix 1", "autotune fix 2"]);
    assert!(texts.contains(&"autotune add BLOCK=256 num_warps=4".into()), "{texts:?}");
    for step in proposed {
        apply_step(&source, &step, &cuda()).unwrap();
    }
}

#[test]
fn an_added_tile_size_keeps_to_what_the_present_ones_show() {
    let bare = TUNED.replace(", mask=at < n, other=0.0", "").replace(", mask=at < n", "");
    assert!(refusal("autotune add BLOCK=1024", &bare).contains("may only shrink"));
    assert!(after("autotune add BLOCK=64", &bare).contains("\"BLOCK\": 64}"));
    assert!(refusal("autotune add BLOCK=100", TUNED).contains("a power of two"));
}

/// The kernel with `configs` in the place of its list.
fn tuned_by(configs: &str) -> String {
    let start = TUNED.find("configs=[").unwrap();
    let end = TUNED.find("],\n    key").unwrap() + 1;
    format!("{}configs={configs}{}", &TUNED[..start], &TUNED[end..])
}

const GRID: &str = "[
        triton.Config({'BLOCK': size}, num_warps=num_warps)
        for size in [128, 512]
        for num_warps in (2, 4)
    ]";

#[test]
fn a_comprehension_comes_to_what_python_makes_of_it() {
    let source = tuned_by(GRID);
    let place = Autotune.places(&Source::parse(&source).unwrap(), &cuda()).remove(0);
    assert_eq!(place.what, "the 4 configurations of relu_kernel");
    assert_eq!(
        place.current.unwrap(),
        "BLOCK=128 num_warps=2 | BLOCK=128 num_warps=4 | BLOCK=512 num_warps=2 | BLOCK=512 num_warps=4"
    );
    let fixed = after("autotune fix 3", &source);
    assert!(fixed.contains("relu_kernel[grid](x, out, n, BLOCK=512, num_warps=2)"), "{fixed}");
    assert!(refusal("autotune prune 1", &source).contains("none can be taken out alone"));
}

#[test]
fn a_comprehension_is_added_to_and_what_it_makes_already_is_no_change() {
    let source = tuned_by(GRID);
    assert!(refusal("autotune add BLOCK=512 num_warps=4", &source).contains("changes nothing"));
    let once = after("autotune add BLOCK=1024", &source);
    assert_eq!(
        changes(&source, &once),
        ["-    ],", "+    ] + [triton.Config({\"BLOCK\": 1024}, num_warps=2)],"]
    );
    let twice = after("autotune add BLOCK=64", &once);
    assert!(
        twice.contains("num_warps=2), triton.Config({\"BLOCK\": 64}, num_warps=2)],"),
        "{twice}"
    );
    assert!(after("autotune fix 6", &twice).contains("(x, out, n, BLOCK=64, num_warps=2)"));
    assert!(refusal("autotune prune 6", &twice).contains("none can be taken out alone"));
}

#[test]
fn numbers_may_come_from_a_list_of_the_modules_and_from_both_arms_of_a_condition() {
    let named = tuned_by("[triton.Config({'BLOCK': b}, num_warps=w) for b in SIZES for w in [4] + ([] if OLD else [8])]")
        .replace("import torch\n", "import torch\nSIZES = [256, 1024]\n");
    let place = Autotune.places(&Source::parse(&named).unwrap(), &cuda()).remove(0);
    assert_eq!(
        place.current.unwrap(),
        "BLOCK=256 num_warps=4 | BLOCK=256 num_warps=8 | BLOCK=1024 num_warps=4 | BLOCK=1024 num_warps=8"
    );
    let twice_given = named.replace("SIZES = [256, 1024]\n", "SIZES = [256]\nSIZES += [1024]\n");
    assert!(refusal("autotune fix 1", &twice_given).contains("can be told from the source"));
    let by_device = named.replace("[256, 1024]", "[256] if OLD else [1024]");
    assert!(after("autotune fix 3", &by_device).contains("BLOCK=1024, num_warps=4)"));
    let circular = named.replace("[256, 1024]", "SIZES + [1024]");
    assert!(refusal("autotune fix 1", &circular).contains("can be told from the source"));
}

#[test]
fn what_a_comprehension_computes_is_left_alone() {
    for configs in [
        "[triton.Config({'BLOCK': 2 * b}) for b in [64]]",
        "[triton.Config({'BLOCK': b}) for b in [64, 128] if b > 64]",
        "[triton.Config({'BLOCK': b}) for b in sizes()]",
        "[triton.Config({'BLOCK': b}) for b, w in [(64, 2)]]",
        "[triton.Config({'BLOCK': b}) for b in [x]]",
        "[triton.Config({'BLOCK': b}) for b in [64] for b in [128]]",
        "[triton.Config({'BLOCK': 64})] * 2",
        "CONFIGS",
    ] {
        let source = tuned_by(configs);
        assert!(refusal("autotune fix 1", &source).contains("can be told from"), "{configs}");
    }
}

#[test]
fn of_many_configurations_some_from_all_over_are_proposed() {
    let many = tuned_by(
        "[triton.Config({'BLOCK': b}, num_warps=w) for b in [32, 64, 128, 256] for w in [1, 2, 4, 8]]",
    );
    let place = Autotune.places(&Source::parse(&many).unwrap(), &cuda()).remove(0);
    let fixed: Vec<String> =
        place.steps.iter().map(ToString::to_string).filter(|step| step.contains("fix")).collect();
    assert_eq!(fixed.len(), 8);
    assert_eq!((fixed[0].as_str(), fixed[7].as_str()), ("autotune fix 1", "autotune fix 15"));
    assert!(place.current.unwrap().ends_with(" | …"));
}

#[test]
fn more_configurations_than_anybody_waits_for_are_not_read() {
    let of = |count: usize| {
        let sizes: Vec<String> = (1..=count).map(|size| size.to_string()).collect();
        tuned_by(&format!("[triton.Config({{'BLOCK': b}}) for b in [{}]]", sizes.join(", ")))
    };
    assert!(after("autotune fix 256", &of(256)).contains("(x, out, n, BLOCK=256)"));
    assert!(refusal("autotune fix 1", &of(257)).contains("can be told from the source"));
}

#[test]
fn lists_are_joined_however_many_they_are() {
    let list = "[triton.Config({'BLOCK': 64})]";
    let many = tuned_by(&vec![list; 20_000].join(" + "));
    assert!(after("autotune fix 20000", &many).contains("(x, out, n, BLOCK=64)"));
    let two = tuned_by(&[list; 2].join(" + "));
    assert!(refusal("autotune prune 1", &two).contains("do not stand in one list"));
}
