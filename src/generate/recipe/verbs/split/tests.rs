use insta::assert_snapshot;

use crate::generate::recipe::fixtures::*;
use crate::generate::recipe::{applicable_places, verbs::split::Split};
use crate::kernel::syntax::Source;

/// A dot product a row, with pointers that move and a tile size written at the launch.
const ROWS: &str = r#"import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, w_ptr, y_ptr, width, stride, STEP: tl.constexpr, eps=1e-6):
    """One program a row."""
    row = tl.program_id(0)
    at = tl.arange(0, STEP)
    x_at = x_ptr + row.to(tl.int64) * stride + at
    total = tl.zeros((STEP,), dtype=tl.float32)
    peak = float("-inf")
    for start in range(0, width, STEP):
        inside = start + at < width
        x = tl.load(x_at, mask=inside, other=0.0).to(tl.float32)
        total += x * tl.load(w_ptr + start + at, mask=inside, other=0.0)
        peak = tl.maximum(peak, tl.max(x, axis=0))
        x_at += STEP
    tl.store(y_ptr + row, tl.sum(total, axis=0) / (peak + eps))


def kernel_function(x, w):
    height, width = x.shape
    y = torch.empty(height, device=x.device)
    rows_kernel[(height,)](x, w, y, width, x.stride(0), STEP=256)
    return y
"#;

fn steps(text: &str) -> Vec<String> {
    let source = Source::parse(text).unwrap();
    let places = applicable_places(&Split, &source, &cuda());
    places.iter().flat_map(|place| place.steps.iter().map(ToString::to_string)).collect()
}

/// Why `split 4` gives nothing for [`ROWS`] with `old` replaced by `new`.
fn refusal_with(old: &str, new: &str) -> String {
    assert!(ROWS.contains(old), "{old}");
    refusal("split 4", &ROWS.replace(old, new))
}

#[test]
fn a_reduction_becomes_a_kernel_of_partial_results_and_one_that_combines_them() {
    assert_snapshot!(after("split 16", ROWS), @r##"
import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel_partial(peak_parts_ptr, total_parts_ptr, x_ptr, w_ptr, y_ptr, width, stride, STEP: tl.constexpr, eps=1e-6, SPLITS: tl.constexpr = 16):
    """One program a row."""
    row = tl.program_id(0)
    at = tl.arange(0, STEP)
    x_at = x_ptr + row.to(tl.int64) * stride + at
    total = tl.zeros((STEP,), dtype=tl.float32)
    peak = float("-inf")
    part = tl.program_id(1)
    steps = tl.cdiv(tl.cdiv(width, STEP), SPLITS)
    chunk = steps * STEP
    x_at += part.to(tl.int64) * steps * STEP
    for start in range(part * chunk, tl.minimum(part * chunk + chunk, width), STEP):
        inside = start + at < width
        x = tl.load(x_at, mask=inside, other=0.0).to(tl.float32)
        total += x * tl.load(w_ptr + start + at, mask=inside, other=0.0)
        peak = tl.maximum(peak, tl.max(x, axis=0))
        x_at += STEP
    program = tl.program_id(0).to(tl.int64)
    peak_at = peak_parts_ptr + program * SPLITS + part
    total_at = total_parts_ptr + (program * SPLITS + part) * STEP + tl.arange(0, STEP)
    tl.store(peak_at, peak)
    tl.store(total_at, total)


@triton.jit
def rows_kernel(peak_parts_ptr, total_parts_ptr, x_ptr, w_ptr, y_ptr, width, stride, STEP: tl.constexpr, eps=1e-6, SPLITS: tl.constexpr = 16):
    """One program a row."""
    row = tl.program_id(0)
    at = tl.arange(0, STEP)
    x_at = x_ptr + row.to(tl.int64) * stride + at
    total = tl.zeros((STEP,), dtype=tl.float32)
    peak = float("-inf")
    program = tl.program_id(0).to(tl.int64)
    peak_at = peak_parts_ptr + program * SPLITS
    total_at = total_parts_ptr + program * SPLITS * STEP + tl.arange(0, STEP)
    for part in tl.static_range(SPLITS):
        peak = tl.maximum(peak, tl.load(peak_at + part))
        total += tl.load(total_at + part * STEP)
    tl.store(y_ptr + row, tl.sum(total, axis=0) / (peak + eps))


def kernel_function(x, w):
    height, width = x.shape
    y = torch.empty(height, device=x.device)
    STEP = 256
    SPLITS = 16
    peak_parts = torch.empty((height, SPLITS), device=y.device, dtype=torch.float32)
    total_parts = torch.empty((height, SPLITS, STEP), device=y.device, dtype=torch.float32)
    rows_kernel_partial[(height, SPLITS)](peak_parts, total_parts, x, w, y, width, x.stride(0), STEP=STEP, SPLITS=SPLITS)
    rows_kernel[(height,)](peak_parts, total_parts, x, w, y, width, x.stride(0), STEP=STEP, SPLITS=SPLITS)
    return y
"##);
}

#[test]
fn a_product_is_split_along_its_inner_dimension() {
    let changed = changes(PRODUCT, &after("split 4", PRODUCT));
    assert_snapshot!(changed.join("\n"), @r##"
-def product_kernel(
-    a_ptr, b_ptr, c_ptr, M, N, K,
+def product_kernel_partial(
+    acc_parts_ptr, a_ptr, b_ptr, c_ptr, M, N, K,
+    SPLITS: tl.constexpr = 4,
-    for start in range(0, K, TK):
+    part = tl.program_id(2)
+    chunk = tl.cdiv(tl.cdiv(K, TK), SPLITS) * TK
+    for start in range(part * chunk, tl.minimum(part * chunk + chunk, K), TK):
+    program = tl.program_id(0).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
+    acc_at = acc_parts_ptr + (program * SPLITS + part) * (TM * TN) + tl.arange(0, TM)[:, None] * TN + tl.arange(0, TN)[None, :]
+    tl.store(acc_at, acc)
+
+
+@triton.jit
+def product_kernel(
+    acc_parts_ptr, a_ptr, b_ptr, c_ptr, M, N, K,
+    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr = 32,
+    SPLITS: tl.constexpr = 4,
+):
+    i = tl.program_id(0) * TM + tl.arange(0, TM)
+    j = tl.program_id(1) * TN + tl.arange(0, TN)
+    acc = tl.zeros((TM, TN), dtype=tl.float32)
+    program = tl.program_id(0).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
+    acc_at = acc_parts_ptr + program * SPLITS * (TM * TN) + tl.arange(0, TM)[:, None] * TN + tl.arange(0, TN)[None, :]
+    for part in range(SPLITS):
+        acc += tl.load(acc_at + part * (TM * TN))
+    SPLITS = 4
+    acc_parts = torch.empty((*grid, SPLITS, TM, TN), device=c.device, dtype=torch.float32)
+    product_kernel_partial[(*grid, SPLITS)](
+        acc_parts, a, b, c, M, N, K,
+        TM=TM,
+        TN=TN,
+        num_warps=4,
+        SPLITS=SPLITS,
+    )
-        a, b, c, M, N, K,
+        acc_parts, a, b, c, M, N, K,
+        SPLITS=SPLITS,
"##);
}

#[test]
fn what_follows_the_loop_stays_with_the_combining_kernel() {
    let changed = after("split 8", SCALE_ROWS);
    let (partial, combining) = changed.split_once("def scale_rows_kernel(").unwrap();
    assert!(!partial.contains("length ="), "{partial}");
    assert!(combining.contains("total += tl.load(total_at + part * TILE)"), "{combining}");
    assert!(combining.contains("tl.store(out_ptr + row * width + at, x / length"), "{combining}");
}

#[test]
fn a_grid_of_three_axes_shares_its_first_one() {
    let three = ROWS
        .replace("row = tl.program_id(0)", "row = tl.program_id(0) + tl.program_id(2)")
        .replace("[(height,)]", "[(height // 2 + 1, 1, 1)]");
    let changed = changes(&three, &after("split 4", &three));
    let has = |line: &str| assert!(changed.iter().any(|it| it == line), "{line}: {changed:#?}");
    has("+    row = (tl.program_id(0) // SPLITS) + tl.program_id(2)");
    has("+    part = tl.program_id(0) % SPLITS");
    let launch = "+    rows_kernel_partial[((height // 2 + 1) * SPLITS, 1, 1)]";
    assert!(changed.iter().any(|it| it.starts_with(launch)), "{changed:#?}");
}

#[test]
fn a_number_that_the_grid_repeats_becomes_a_name_there_too() {
    let columns = ROWS.replace("row = tl.program_id(0)", "row = tl.program_id(0) * STEP").replace(
        "    rows_kernel[(height,)]",
        "    grid = (triton.cdiv(height, 256),)\n    rows_kernel[grid]",
    );
    let changed = after("split 4", &columns);
    assert!(
        changed
            .contains("    STEP = 256\n    grid = (triton.cdiv(height, STEP),)\n    SPLITS = 4\n"),
        "{changed}"
    );
    assert!(changed.contains("    total_parts = torch.empty((*grid, SPLITS, STEP), device=y.device, dtype=torch.float32)\n"), "{changed}");
}

#[test]
fn the_number_of_programs_is_changed_again_where_it_is_set() {
    let split = after("split 16", ROWS);
    assert_eq!(steps(&split), ["split 64", "split 4", "split 32", "split 8", "split 2"]);
    assert_eq!(
        changes(&split, &after("split 64", &split)),
        ["-    SPLITS = 16", "+    SPLITS = 64"]
    );
}

#[test]
fn the_workspace_follows_a_tile_size_that_changes_later() {
    let retiled = changes(&after("split 4", PRODUCT), &after("split 4; tile TM=128", PRODUCT));
    assert_eq!(retiled, ["-    TM, TN = 64, 32", "+    TM, TN = 128, 32"]);
}

#[test]
fn a_loop_whose_iterations_depend_on_each_other_stays_whole() {
    assert_snapshot!(refusal_with("total += x", "total = 0.5 * total + x"), @"`split 4` does not apply: rows_kernel: `total` is carried from one iteration of its loop to the next, and not as a plain sum, maximum or minimum that starts at zero or infinity");
    assert_snapshot!(refusal_with("x * tl.load", "x * peak * tl.load"), @"`split 4` does not apply: rows_kernel: `peak` is carried from one iteration of its loop to the next, and not as a plain sum, maximum or minimum that starts at zero or infinity");
    assert_snapshot!(refusal_with("tl.zeros((STEP,), dtype=tl.float32)", "tl.full((STEP,), 1.0, tl.float32)"), @"`split 4` does not apply: rows_kernel: `total` is carried from one iteration of its loop to the next, and not as a plain sum, maximum or minimum that starts at zero or infinity");
    assert_snapshot!(refusal_with("        x_at += STEP\n", "        x_at += start\n"), @"`split 4` does not apply: rows_kernel: `x_at` is carried from one iteration of its loop to the next, and not as a plain sum, maximum or minimum that starts at zero or infinity");
    assert_snapshot!(refusal_with("(peak + eps)", "(peak + eps + start)"), @"`split 4` does not apply: rows_kernel: `start` of its loop's last iteration is used after it");
}

#[test]
fn a_kernel_that_cannot_be_run_twice_or_launched_otherwise_stays_whole() {
    assert_snapshot!(refusal_with("        x_at += STEP\n", "        tl.store(y_ptr, 0.0)\n        x_at += STEP\n"), @"`split 4` does not apply: rows_kernel: it stores something before its loop ends");
    assert_snapshot!(refusal_with("[(height,)]", "[grid_of(height)]"), @"`split 4` does not apply: rows_kernel: its grid cannot be read as a tuple (line 26)");
    assert_snapshot!(refusal_with("STEP=256", "STEP=256, SPLITS=1"), @"`split 4` does not apply: rows_kernel: the name SPLITS is taken");
    assert_snapshot!(refusal_with("@triton.jit", "@triton.autotune(configs=[], key=[])\n@triton.jit"), @"`split 4` does not apply: rows_kernel: it has decorators besides @triton.jit");
    assert_snapshot!(refusal_with("    return y", "    return y, rows_kernel"), @"`split 4` does not apply: rows_kernel: it is used otherwise than in launches of this file");
    assert_snapshot!(refusal("split 4", ADD), @"`split 4` does not apply: add_kernel: it has no loop");
    assert_snapshot!(refusal("split 1", ROWS), @"`split 1` does not apply: `1` is not a number of chunks from 2 to 1024; what applies: 16, 64, 4, 32, 8, 2");
    assert_snapshot!(refusal("split 4 other", ROWS), @"`split 4 other` does not apply: there is no such kernel");
}

mod below;
