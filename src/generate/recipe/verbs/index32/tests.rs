use insta::assert_snapshot;

use crate::generate::recipe::{
    Argument, CaseFacts, Context, DeviceKind, Recipe, applicable_places, fixtures::*,
    verbs::index32::Index32,
};
use crate::kernel::{Case, syntax::Source};

/// A context in which the entry's first argument has these shapes, one a case.
fn shapes(shapes: &[[i64; 2]]) -> Context {
    let mut context = Context::new(DeviceKind::Cuda);
    context.entry = Some("kernel_function".into());
    for [height, width] in shapes {
        let case =
            Case { name: format!("{height}x{width}"), params: Default::default(), weight: 1.0 };
        let tensor = Argument::Tensor {
            dtype: "float32".into(),
            shape: vec![*height, *width],
            stride: vec![*width, 1],
        };
        context.cases.push(CaseFacts { case, arguments: vec![tensor.clone(), tensor] });
    }
    context
}

fn outcome(text: &str, context: &Context) -> String {
    match Recipe::parse("index32").unwrap().apply(text, context) {
        Ok(after) => changes(text, &after).join("\n"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_cast_goes_where_every_tensor_of_every_case_is_small() {
    assert_snapshot!(outcome(SCALE_ROWS, &shapes(&[[4096, 4096], [3, 100_000_000]])), @r##"
-    row = tl.program_id(0).to(tl.int64)
+    row = tl.program_id(0)
"##);
}

#[test]
fn a_cast_stays_where_a_case_is_large_or_unknown() {
    assert_snapshot!(outcome(SCALE_ROWS, &shapes(&[[4096, 4096], [2048, 1_048_576]])), @"`index32` does not apply: scale_rows_kernel: `out_ptr` spans 2147483648 elements in the case 2048x1048576, more than 1073741824");
    assert_snapshot!(outcome(SCALE_ROWS, &cuda()), @"`index32` does not apply: scale_rows_kernel: the sizes of the cases' inputs are not known");
    let source = Source::parse(SCALE_ROWS).unwrap();
    assert_eq!(applicable_places(&Index32, &source, &cuda()), []);
    assert_eq!(applicable_places(&Index32, &source, &shapes(&[[8, 8]])).len(), 1);
}

#[test]
fn what_the_host_allocates_is_followed_through_its_shapes() {
    let large = SCALE_ROWS.replace("torch.empty_like(x)", "torch.empty((height * 1024, width))");
    assert_snapshot!(outcome(&large, &shapes(&[[4096, 4096]])), @"`index32` does not apply: scale_rows_kernel: `out_ptr` spans 17179869184 elements in the case 4096x4096, more than 1073741824");
    let unknown = SCALE_ROWS.replace("torch.empty_like(x)", "make_output(x)");
    assert_snapshot!(outcome(&unknown, &shapes(&[[8, 8]])), @"`index32` does not apply: scale_rows_kernel: the size of what `out_ptr` points to is not known in every case");
    let helper = SCALE_ROWS.replace("def kernel_function(", "def launch(");
    assert_snapshot!(outcome(&helper, &shapes(&[[8, 8]])), @"`index32` does not apply: scale_rows_kernel: it is not launched by the entry itself");
}

#[test]
fn a_cast_stays_where_it_serves_more_than_addresses() {
    let stored = SCALE_ROWS.replace("x / length, mask", "x / length + row, mask");
    assert_snapshot!(outcome(&stored, &shapes(&[[8, 8]])), @"`index32` does not apply: scale_rows_kernel: no offset is cast to 64 bits, or what is cast is used for more");
    let divided = SCALE_ROWS.replace("total = tl", "half = row * width // 2\n    total = tl");
    assert_snapshot!(outcome(&divided, &shapes(&[[8, 8]])), @"`index32` does not apply: scale_rows_kernel: no offset is cast to 64 bits, or what is cast is used for more");
    assert_snapshot!(outcome(ADD, &shapes(&[[8, 8]])), @"`index32` does not apply: add_kernel: no offset is cast to 64 bits, or what is cast is used for more");
}
