//! Kinds of kernels.

use serde_json::json;

use super::{PRODUCT, SOFTMAX, case};
use crate::generate::recipe::{
    Argument, CaseFacts, Context, DeviceKind,
    fixtures::{ADD, SCALE_ROWS, TUNED, after},
};
use crate::generate::task::fingerprint;
use crate::kernel::syntax::Source;

fn tensor(dtype: &str, shape: &[i64]) -> Argument {
    Argument::Tensor { dtype: dtype.into(), shape: shape.into(), stride: vec![1; shape.len()] }
}

fn context(arguments: &[Argument]) -> Context {
    let case = case(json!({"rows": 64, "dtype": "bfloat16"}));
    let cases = vec![CaseFacts { case, arguments: arguments.to_vec() }];
    Context { cases, ..Context::new(DeviceKind::Cuda) }
}

fn of(text: &str, arguments: &[Argument]) -> String {
    fingerprint(&Source::parse(text).unwrap(), &context(arguments), false)
}

#[test]
fn a_fingerprint_says_what_is_computed_on_what() {
    let half = tensor("bfloat16", &[64, 4096]);
    let said = [
        ("add", of(ADD, &[tensor("float32", &[1000]), tensor("float32", &[1000])])),
        ("tuned", of(TUNED, std::slice::from_ref(&half))),
        ("scale rows", of(SCALE_ROWS, std::slice::from_ref(&half))),
        ("softmax", of(SOFTMAX, std::slice::from_ref(&half))),
        ("product", of(PRODUCT, &[half.clone(), half, tensor("float16", &[64])])),
        ("mixed", of(ADD, &[tensor("int32", &[8]), Argument::Integer(8), tensor("bool", &[2, 2])])),
        ("nobody looked", of(ADD, &[])),
    ];
    let said = said.map(|(kernel, fingerprint)| format!("{kernel}: {fingerprint}")).join("\n");
    insta::assert_snapshot!(said, @r"
    add: elementwise/f32:1
    tuned: elementwise/f16:2
    scale rows: reduction+loop+several-passes/f16:2
    softmax: reduction+exponential+loop+several-passes/f16:2
    product: dot+reduction+atomics+transpose+loop+several-kernels/f16:1+f16:2
    mixed: elementwise/bool:2+int:1
    nobody looked: elementwise/f16
    ");
}

#[test]
fn it_does_not_depend_on_names_sizes_comments_or_hints() {
    let small = of(SCALE_ROWS, &[tensor("float16", &[2, 3])]);
    let renamed = SCALE_ROWS.replace("scale_rows_kernel", "grad_bwd").replace("total", "acc");
    for text in [
        renamed,
        SCALE_ROWS.replace("TILE = 64", "TILE = 4096  # tl.dot(a, b)"),
        after("warps 8; evict first x_ptr", SCALE_ROWS),
    ] {
        assert_ne!(text, SCALE_ROWS);
        assert_eq!(of(&text, &[tensor("bfloat16", &[4096, 65536])]), small);
    }
}

#[test]
fn nothing_known_of_the_contract_still_names_the_work() {
    let source = Source::parse(SOFTMAX).unwrap();
    let bare = Context::new(DeviceKind::Cpu);
    assert_eq!(fingerprint(&source, &bare, false), "reduction+exponential+loop+several-passes");
    assert!(fingerprint(&source, &bare, true).ends_with("several-passes/gradients"));
}
