//! When tasks apply.

use super::*;

fn applies(task: &str, situation: &Situation<'_>) -> bool {
    Library::embedded().unwrap().get(task).unwrap().when.holds(situation)
}

#[test]
fn the_syntax_decides() {
    let cases = cases();
    let (softmax, product) = (situation(SOFTMAX, &cases), situation(PRODUCT, &cases));
    for (task, on_softmax, on_product) in [
        ("online-softmax", true, false),
        ("row-on-chip", true, false),
        ("grouped-order", false, true),
        ("operand-precision", false, true),
        ("product-on-tensor-cores", false, false),
        ("fuse-kernels", false, true),
        ("persistent-tiles", true, false),
        ("tensor-descriptors", false, false),
        ("parameter-gradients", false, true),
        ("shape-dispatch", true, true),
    ] {
        assert_eq!(applies(task, &softmax), on_softmax, "{task}");
        assert_eq!(applies(task, &product), on_product, "{task}");
    }
}

#[test]
fn cases_gpu_and_gradients_decide_where_they_are_known() {
    let condition = |text: &str| toml::from_str::<Condition>(text).unwrap();
    let cases = cases();
    let known =
        Situation { case_bytes: &[1_000_000], headroom: Some(1.4), ..situation(SOFTMAX, &cases) };
    let unknown = Situation { arch: None, ..situation(SOFTMAX, &[]) };
    for (text, holds) in [
        ("", true),
        ("dtypes = ['float32', 'float16']", true),
        ("dtypes = ['float16']", false),
        ("arch = 'sm_90'", true),
        ("arch = 'sm_100'", false),
        ("cases = 2", true),
        ("cases = 3", false),
        ("extent_at_least = 65536", true),
        ("extent_at_least = 65537", false),
        ("extent_at_most = 64", true),
        ("extent_at_most = 63", false),
        ("bytes_at_most = 1000000", true),
        ("bytes_at_most = 999999", false),
        ("headroom_at_least = 1.4", true),
        ("headroom_at_least = 1.5", false),
    ] {
        assert_eq!(condition(text).holds(&known), holds, "{text}");
        assert!(condition(text).holds(&unknown), "{text}: what is not known holds");
    }
    let gradients = condition("gradients = true");
    assert!(!gradients.holds(&known));
    assert!(gradients.holds(&Situation { gradients: true, ..known }));
}

#[test]
fn extents_are_found_in_shapes_too() {
    let cases = [case(json!({"shape": [4, [7, 9000]], "causal": true}))];
    let long = Condition { extent_at_least: Some(9000), ..Condition::default() };
    assert!(long.holds(&situation(SOFTMAX, &cases)));
    let longer = Condition { extent_at_least: Some(9001), ..Condition::default() };
    assert!(!longer.holds(&situation(SOFTMAX, &cases)));
}

#[test]
fn an_ordinary_kernel_has_many_tasks() {
    let (library, cases) = (Library::embedded().unwrap(), cases());
    for source in [SOFTMAX, PRODUCT] {
        let situation = situation(source, &cases);
        let count = library.iter().filter(|task| task.when.holds(&situation)).count();
        assert!(count >= 12, "{count}");
    }
}
