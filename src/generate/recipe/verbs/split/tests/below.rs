//! `split COUNT below PROGRAMS`: large grids stay with the kernel as it was.

use super::*;

/// The function that launches, from its first line on.
fn host(text: &str) -> &str {
    let (_, host) = text.split_once("def kernel_function").unwrap();
    host.split_once('\n').unwrap().1
}

/// The condition that `split 4 below 640` writes for [`ROWS`] with another `grid` in the brackets,
/// after `before`.
fn condition(before: &str, grid: &str) -> String {
    let launch = format!("    {before}rows_kernel[{grid}](");
    let text = ROWS.replace("    rows_kernel[(height,)](", &launch);
    let changed = after("split 4 below 640", &text);
    let line = changed.lines().find(|line| line.trim_start().starts_with("if ")).unwrap();
    line.trim().to_owned()
}

#[test]
fn the_host_function_decides_by_the_size_of_the_grid() {
    assert_snapshot!(host(&after("split 16 below 640", PRODUCT)), @r##"
(M, K), N = a.shape, b.shape[1]
c = torch.empty((M, N), device=a.device, dtype=a.dtype)
TM, TN = 64, 32
grid = (triton.cdiv(M, TM), triton.cdiv(N, TN))
if grid[0] * grid[1] >= 640:
    product_kernel[grid](
        a, b, c, M, N, K,
        TM=TM,
        TN=TN,
        num_warps=4,
    )
else:
    SPLITS = 16
    acc_parts = torch.empty((*grid, SPLITS, TM, TN), device=c.device, dtype=torch.float32)
    product_kernel_partial[(*grid, SPLITS)](
        acc_parts, a, b, c, M, N, K,
        TM=TM,
        TN=TN,
        num_warps=4,
        SPLITS=SPLITS,
    )
    product_kernel_combine[grid](
        acc_parts, a, b, c, M, N, K,
        TM=TM,
        TN=TN,
        num_warps=4,
        SPLITS=SPLITS,
    )
return c
"##);
}

#[test]
fn the_kernel_stays_byte_for_byte_and_a_copy_combines() {
    for text in [ROWS, PRODUCT, SCALE_ROWS] {
        let (head, _) = text.split_once("def kernel_function").unwrap();
        let kernel = &head[head.find("@triton.jit").unwrap()..];
        let (limited, always) = (after("split 4 below 640", text), after("split 4", text));
        assert!(limited.contains(kernel), "{limited}");
        // Both stages are those of the form without a limit.
        let (stages, _) = limited.split_once(kernel).unwrap();
        let name = Source::parse(text).unwrap().kernels()[0].name().to_owned();
        let stages = stages.replace(&format!("def {name}_combine("), &format!("def {name}("));
        assert!(always.starts_with(stages.trim_end()), "{stages}");
    }
    let taken = ROWS.replace("width, stride", "width, rows_kernel_combine");
    let taken = taken.replace("* stride", "* rows_kernel_combine");
    let changed = after("split 4 below 640", &taken);
    assert!(changed.contains("        rows_kernel_combine_2[(height,)](peak_parts"), "{changed}");
}

#[test]
fn the_size_of_the_grid_is_an_expression_of_the_host() {
    assert_snapshot!(condition("", "(height,)"), @"if height >= 640:");
    assert_snapshot!(condition("", "height, 2"), @"if height * 2 >= 640:");
    assert_snapshot!(condition("", "(height // 2 + 1, 1, 1)"), @"if height // 2 + 1 >= 640:");
    assert_snapshot!(condition("", "(height // 2 + 1, width if width else 1)"), @"if (height // 2 + 1) * (width if width else 1) >= 640:");
    assert_snapshot!(condition("", "lambda meta: (triton.cdiv(height, meta['STEP']),)"), @"if triton.cdiv(height, STEP) >= 640:");
    assert_snapshot!(condition("grid = (height, 1)\n    ", "grid"), @"if grid[0] >= 640:");
    assert_snapshot!(condition("grid = (height, width, 2)\n    ", "grid"), @"if grid[0] * grid[1] * grid[2] >= 640:");
    assert_snapshot!(condition("grid = lambda meta: (height,)\n    ", "grid"), @"if height >= 640:");
    let lines = after(
        "split 4 below 640",
        &ROWS.replace("(height,)", "(\n        height\n        + 1,\n    )"),
    );
    assert!(lines.contains("    if (height\n        + 1) >= 640:\n"), "{lines}");
}

#[test]
fn a_launch_of_several_lines_is_indented_and_what_stands_in_its_strings_is_not() {
    let text = ROWS.replace(
        "    rows_kernel[(height,)](x, w, y, width, x.stride(0), STEP=256)\n",
        "    if x.numel():\n        \
         rows_kernel[(height,)](  # one a row\n            \
         x, w, y, width, dict(a=\"\"\"\n  b\n\"\"\", b=x.stride(0))[\"b\"],\n\n    \
         STEP=256,  # fits\n        )  # done\n",
    );
    assert_snapshot!(host(&after("split 16 below 640", &text)), @r##"
    height, width = x.shape
    y = torch.empty(height, device=x.device)
    if x.numel():
        STEP = 256
        if height >= 640:
            rows_kernel[(height,)](  # one a row
                x, w, y, width, dict(a="""
  b
""", b=x.stride(0))["b"],

        STEP=STEP,  # fits
            )  # done
        else:
            SPLITS = 16
            peak_parts = torch.empty((height, SPLITS), device=y.device, dtype=torch.float32)
            total_parts = torch.empty((height, SPLITS, STEP), device=y.device, dtype=torch.float32)
            rows_kernel_partial[(height, SPLITS)](  # one a row
                peak_parts, total_parts, x, w, y, width, dict(a="""
  b
""", b=x.stride(0))["b"],

        STEP=STEP,
        SPLITS=SPLITS,  # fits
            )
            rows_kernel_combine[(height,)](  # one a row
                peak_parts, total_parts, x, w, y, width, dict(a="""
  b
""", b=x.stride(0))["b"],

        STEP=STEP,
        SPLITS=SPLITS,  # fits
            )
    return y
"##);
}

#[test]
fn tabs_and_narrow_indents_stay_what_they_are() {
    for indent in ["\t", "  "] {
        let indented = |text: &str| text.replace("    ", indent);
        for text in [ROWS, PRODUCT] {
            let changed = after("split 16 below 640", &indented(text));
            assert_eq!(changed, indented(&after("split 16 below 640", text)));
        }
    }
}

#[test]
fn the_limit_is_proposed_beside_what_has_none() {
    assert_snapshot!(steps(ROWS).join(", "), @"split 16, split 16 below 640, split 64, split 64 below 640, split 4, split 32, split 8, split 2, split 16 below 256, split 4 below 640");
    assert_snapshot!(steps(&after("split 16 below 640", ROWS)).join(", "), @"split 64, split 4, split 32, split 8, split 2, split 16 below 256, split 16 below 1280");
    let source = Source::parse(after("split 16 below 640", ROWS)).unwrap();
    let place = applicable_places(&Split, &source, &cuda()).remove(0);
    assert_snapshot!(place.what, @"the reduction loop of rows_kernel, where it has fewer than 640 programs");
    assert_eq!(place.current.as_deref(), Some("16"));
}

#[test]
fn the_count_and_the_limit_are_changed_again_where_they_are_set() {
    let split = after("split 16 below 640", PRODUCT);
    assert_eq!(
        changes(&split, &after("split 64", &split)),
        ["-        SPLITS = 16", "+        SPLITS = 64"]
    );
    assert_eq!(
        changes(&split, &after("split 64 below 320 product_kernel", &split)),
        [
            "-    if grid[0] * grid[1] >= 640:",
            "+    if grid[0] * grid[1] >= 320:",
            "-        SPLITS = 16",
            "+        SPLITS = 64",
        ]
    );
    assert!(refusal("split 16", &split).contains("changes nothing"));
    assert_snapshot!(refusal("split 16; split 16 below 640", ROWS), @"`split 16 below 640` does not apply: rows_kernel: its reduction is shared out for every grid already, and the kernel of one stage is gone: give the limit in the step that splits it");
    let edited = split.replace(">= 640", "> 640");
    assert_snapshot!(refusal("split 64", &edited), @"`split 64` does not apply: product_kernel_partial: its reduction is shared out already; product_kernel_combine: its reduction is shared out already; product_kernel: its reduction is shared out already");
}

#[test]
fn every_launch_of_a_function_decides_for_itself() {
    let launch = "    rows_kernel[(height,)](x, w, y, width, x.stride(0), STEP=256)\n";
    let again = "    rows_kernel[(height // 2,)](x, w, y, width, x.stride(0), STEP=128)\n";
    let twice = after("split 4 below 640", &ROWS.replace(launch, &format!("{launch}{again}")));
    assert!(twice.contains("    if height >= 640:\n"), "{twice}");
    assert!(twice.contains("    STEP = 128\n    if height // 2 >= 640:\n"), "{twice}");
    let retuned = after("split 8 below 320", &twice);
    assert_eq!(retuned.matches("SPLITS = 8\n").count(), 2);
    assert_eq!(retuned.matches(">= 320:\n").count(), 2);
}

#[test]
fn a_tile_size_changes_for_all_three_kernels_at_once() {
    let columns = ROWS.replace("row = tl.program_id(0)", "row = tl.program_id(0) * STEP").replace(
        "    rows_kernel[(height,)]",
        "    grid = (triton.cdiv(height, 256),)\n    rows_kernel[grid]",
    );
    let split = after("split 4 below 640", &columns);
    assert!(
        split.contains("    STEP = 256\n    grid = (triton.cdiv(height, STEP),)\n    if grid[0] >= 640:\n        rows_kernel[grid](x, w, y, width, x.stride(0), STEP=STEP)\n"),
        "{split}"
    );
    let retiled = changes(&split, &after("tile STEP=512", &split));
    assert_eq!(retiled, ["-    STEP = 256", "+    STEP = 512"]);

    let split = after("split 4 below 640", PRODUCT);
    let retiled = changes(&split, &after("tile TM=128 TN=64", &split));
    assert_eq!(retiled, ["-    TM, TN = 64, 32", "+    TM, TN = 128, 64"]);
    // The default of a loop's step is no concern of the workspace: the kernels may differ in it.
    assert_snapshot!(refusal("tile TK=64", &split), @"`tile TK=64` does not apply: no tile size `TK` is set by a number in this source; what applies: TM, TN, product_kernel.TK, product_kernel_partial.TK");
    assert!(after("tile product_kernel_partial.TK=64", &split).contains("TK: tl.constexpr = 64"));

    // Where it is a number at the launch, all launches get it by one name.
    let inner = PRODUCT.replace("TN=TN,", "TN=TN, TK=32,");
    let split = after("split 4 below 640", &inner);
    let retiled = changes(&split, &after("tile TK=64", &split));
    assert_eq!(retiled, ["-    TK = 32", "+    TK = 64"]);
    assert_eq!(split.matches("TK=TK").count(), 3, "{split}");

    // Numbers that the grid repeats cannot be told apart; the loop's is none of them.
    let square = PRODUCT
        .replace("TM=TM,", "TM=64,")
        .replace("TN=TN,", "TN=64, TK=64,")
        .replace("    TM, TN = 64, 32\n", "")
        .replace(
            "(triton.cdiv(M, TM), triton.cdiv(N, TN))",
            "(triton.cdiv(M, 64), triton.cdiv(N, 64))",
        );
    let split = after("split 4 below 640", &square);
    assert!(
        split.contains(
            "    TM = 64\n    TK = 64\n    grid = (triton.cdiv(M, TM), triton.cdiv(N, TM))\n"
        ),
        "{split}"
    );
    let retiled = changes(&split, &after("tile TK=32 TM=128", &split));
    assert_eq!(retiled, ["-    TM = 64", "-    TK = 64", "+    TM = 128", "+    TK = 32"]);
}

#[test]
fn options_change_at_all_launches_or_at_those_of_the_kernel_that_is_named() {
    let split = after("split 4 below 640", ROWS);
    assert_eq!(after("warps 8", &split).matches("num_warps=8").count(), 3);
    let one = changes(&split, &after("warps 8 rows_kernel_combine", &split));
    assert_eq!(one.len(), 2, "{one:?}");
    assert!(one[1].ends_with("STEP=STEP, SPLITS=SPLITS, num_warps=8)"), "{one:?}");
    assert_eq!(after("stages 2 rows_kernel", &split).matches("num_stages=2").count(), 1);
    assert_eq!(after("evict first x_ptr", &split).matches("evict_first").count(), 2);
    let hinted = after("evict first rows_kernel.x_ptr", &split);
    assert_eq!(hinted.matches("evict_first").count(), 1);
}

#[test]
fn what_gives_nothing_to_decide_by_is_refused() {
    let with = |old: &str, new: &str| refusal("split 4 below 640", &ROWS.replace(old, new));
    assert_snapshot!(with("[(height,)]", "[(8, 1)]"), @"`split 4 below 640` does not apply: rows_kernel: its grid is the same in every call, so there is nothing to decide by (line 26)");
    assert_snapshot!(with("STEP=256)\n", "STEP=256); y += 0\n"), @"`split 4 below 640` does not apply: rows_kernel: another statement shares the lines of its launch (line 26)");
    assert_snapshot!(with("    rows_kernel[", "    width = width + \\\n    0; y = y; \\\n    rows_kernel["), @"`split 4 below 640` does not apply: rows_kernel: another statement shares the lines of its launch (line 28)");
    assert_snapshot!(with("    rows_kernel[", "    z = rows_kernel["), @"`split 4 below 640` does not apply: rows_kernel: its launch is not a statement on lines of its own (line 26)");
    assert_snapshot!(refusal("split 4 below", ROWS), @"`split 4 below`: it takes a number, perhaps `below` and another, and perhaps a kernel's name; write `split COUNT [below PROGRAMS] [KERNEL]`");
    assert_snapshot!(refusal("split 4 below 1", ROWS), @"`split 4 below 1` does not apply: `1` is not a number of programs from 2 to 2147483647; what applies: 640, 256");
    assert_snapshot!(refusal("split 4 below many", ROWS), @"`split 4 below many` does not apply: `many` is not a number of programs from 2 to 2147483647; what applies: 640, 256");
    assert_snapshot!(refusal("split 4 below 640 other", ROWS), @"`split 4 below 640 other` does not apply: there is no such kernel");
    assert_snapshot!(refusal("split 4 below 640", ADD), @"`split 4 below 640` does not apply: add_kernel: it has no loop");
}
