use crate::generate::recipe::{
    CaseFacts, Context, DeviceKind, Recipe, applicable_places, fixtures::*,
    verbs::precision::Precision,
};
use crate::kernel::{Case, syntax::Source};

#[test]
fn either_keyword_becomes_input_precision() {
    assert!(after("precision tf32", PRODUCT).contains("tl.dot(a, b, input_precision=\"tf32\")"));
    let old = PRODUCT.replace("input_precision=\"ieee\"", "allow_tf32=False");
    assert!(after("precision tf32x3", &old).contains("tl.dot(a, b, input_precision=\"tf32x3\")"));
    assert!(refusal("precision ieee", &old).contains("changes nothing"));
    let none = PRODUCT.replace(", input_precision=\"ieee\"", "");
    assert!(after("precision ieee", &none).contains("tl.dot(a, b, input_precision=\"ieee\")"));
}

#[test]
fn it_is_only_proposed_where_a_case_is_float32() {
    let source = Source::parse(PRODUCT).unwrap();
    let with = |dtype: &str| {
        let mut context = cuda();
        let params = serde_json::from_value(serde_json::json!({ "dtype": dtype })).unwrap();
        let case = Case { name: "main".into(), params, weight: 1.0 };
        context.cases.push(CaseFacts { case, arguments: Vec::new() });
        applicable_places(&Precision, &source, &context).len()
    };
    assert_eq!((with("float32"), with("bfloat16")), (1, 0));
}

#[test]
fn the_interpreter_takes_fewer_precisions_than_a_gpu() {
    let recipe = Recipe::parse("precision bf16x3").unwrap();
    assert!(recipe.apply(PRODUCT, &Context::new(DeviceKind::Cuda)).is_ok());
    assert!(recipe.apply(PRODUCT, &Context::new(DeviceKind::Cpu)).is_err());
}

#[test]
fn a_kernel_without_a_product_has_no_precision() {
    assert!(refusal("precision tf32", ADD).contains("no such kernel has a tl.dot"));
}
