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
