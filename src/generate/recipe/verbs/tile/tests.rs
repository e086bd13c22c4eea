use crate::generate::recipe::{
    CaseFacts, Context, applicable_places, fixtures::*, verbs::tile::Tile,
};
use crate::kernel::{Case, syntax::Source};

fn steps(text: &str, context: &Context) -> Vec<String> {
    let source = Source::parse(text).unwrap();
    let places = applicable_places(&Tile, &source, context);
    places.iter().flat_map(|place| place.steps.iter().map(ToString::to_string)).collect()
}

fn cases_with(name: &str, values: &[i64]) -> Context {
    let mut context = cuda();
    for value in values {
        let mut params = serde_json::Map::new();
        params.insert(name.into(), (*value).into());
        let case = Case { name: value.to_string(), params, weight: 1.0 };
        context.cases.push(CaseFacts { case, arguments: Vec::new() });
    }
    context
}

#[test]
fn a_constant_of_the_host_function_is_changed_where_it_is_set() {
    let changed = after("tile TILE=512", SCALE_ROWS);
    assert_eq!(changes(SCALE_ROWS, &changed), ["-    TILE = 64", "+    TILE = 512"]);
}

#[test]
fn several_tiles_of_a_tuple_change_in_one_step() {
    let changed = after("tile TM=128 TN=64", PRODUCT);
    assert_eq!(changes(PRODUCT, &changed), ["-    TM, TN = 64, 32", "+    TM, TN = 128, 64"]);
}

#[test]
fn a_default_of_the_kernel_and_a_literal_at_the_launch_are_tile_sizes_too() {
    assert!(after("tile TK=64", PRODUCT).contains("TK: tl.constexpr = 64,"));
    assert!(after("tile BLOCK=1024", ADD).contains("(x, y, out, n, BLOCK=1024)"));
}

#[test]
fn a_literal_that_the_grid_repeats_changes_in_both_places() {
    let repeated =
        ADD.replace("lambda meta: (triton.cdiv(n, meta[\"BLOCK\"]),)", "(triton.cdiv(n, 128),)");
    let changed = after("tile BLOCK=256", &repeated);
    assert!(changed.contains("add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)"));
}

#[test]
fn a_literal_that_the_grid_does_not_follow_stays() {
    let deaf = ADD.replace("lambda meta: (triton.cdiv(n, meta[\"BLOCK\"]),)", "(n >> 7,)");
    assert!(refusal("tile BLOCK=256", &deaf).contains("the grid does not follow"));
    assert_eq!(steps(&deaf, &cuda()), Vec::<String>::new());
}

#[test]
fn a_tile_that_must_divide_its_dimension_only_shrinks_unless_the_cases_allow_more() {
    let unknown = steps(HEADS, &cuda());
    assert!(unknown.contains(&"tile TD=32".into()), "{unknown:?}");
    assert!(!unknown.contains(&"tile TD=128".into()), "{unknown:?}");
    assert!(steps(HEADS, &cases_with("D", &[256, 1024])).contains(&"tile TD=256".into()));
    assert!(!steps(HEADS, &cases_with("D", &[64, 1024])).contains(&"tile TD=128".into()));
    let refusal = refusal("tile TD=128", HEADS);
    assert!(refusal.contains("not masked") && refusal.contains("TD=32"), "{refusal}");
}

#[test]
fn a_tile_that_covers_its_dimension_at_once_only_grows() {
    let covering = SCALE_ROWS
        .replace("for start in range(0, width, TILE):", "if True:")
        .replace("start + tl", "tl");
    assert!(refusal("tile TILE=32", &covering).contains("may only grow"));
    assert!(after("tile TILE=128", &covering).contains("TILE = 128"));
}

#[test]
fn operands_of_a_product_stay_wide_enough_and_its_tile_fits_the_registers() {
    assert!(refusal("tile TM=8", PRODUCT).contains("at least 16 wide"));
    assert!(refusal("tile TM=512 TN=512", PRODUCT).contains("262144 elements"));
    assert!(steps(PRODUCT, &cuda()).iter().all(|step| step != "tile TM=8"));
}

#[test]
fn what_is_no_tile_size_is_refused_with_the_names_that_are() {
    assert_eq!(
        refusal("tile BLOCK=64", PRODUCT),
        "`tile BLOCK=64` does not apply: no tile size `BLOCK` is set by a number in this source; \
         what applies: TM, TN, TK"
    );
    assert!(refusal("tile TILE=100", SCALE_ROWS).contains("a power of two"));
    assert!(refusal("tile TILE", SCALE_ROWS).contains("write `tile NAME[#N]=VALUE"));
    assert!(refusal("tile TILE=64", SCALE_ROWS).contains("changes nothing"));
}

#[test]
fn sizes_that_an_autotuner_chooses_are_left_to_it() {
    assert_eq!(steps(TUNED, &cuda()), Vec::<String>::new());
}

#[test]
fn one_name_in_two_functions_is_told_apart_by_the_function() {
    let second = SCALE_ROWS
        .replace("kernel_function", "again")
        .split_once("def again")
        .unwrap()
        .1
        .to_owned();
    let two = format!("{SCALE_ROWS}\n\ndef again{second}");
    let steps = steps(&two, &cuda());
    assert!(steps.contains(&"tile kernel_function.TILE=128".into()), "{steps:?}");
    assert!(after("tile again.TILE=128", &two).contains("TILE = 64\n"));
}

/// The host of PRODUCT, as a language model writes it.
fn with_branches() -> String {
    let branches = "    \
    if M <= 16:
        TM, TN = 16, 64
        if K > 4096:
            TN = 32
    else:
        TM, TN = (128, 128) if N > 64 else (64, 32)
";
    PRODUCT.replace("    TM, TN = 64, 32\n", branches)
}

#[test]
fn each_number_that_branches_of_the_host_choose_from_is_a_tile_size() {
    let text = with_branches();
    let tried = steps(&text, &cuda());
    for step in ["TM#1=32", "TN#1=128", "TN#2=64", "TM#2=256", "TN#3=64", "TM#3=128", "TN#4=64"] {
        assert!(tried.contains(&format!("tile {step}")), "{step}: {tried:?}");
    }
    assert_eq!(
        changes(&text, &after("tile TM#2=64 TN#2=16", &text)),
        [
            "-            TN = 32",
            "+            TN = 16",
            "-        TM, TN = (128, 128) if N > 64 else (64, 32)",
            "+        TM, TN = (64, 128) if N > 64 else (64, 32)",
        ]
    );
    assert!(refusal("tile TN=64", &text).contains("TN#1, TN#2, TN#3, TN#4"), "which one?");
}

#[test]
fn what_a_host_asks_about_a_remainder_does_not_hold_a_tile_back() {
    let asks = PRODUCT.replace("TM=TM,", "TM=TM if M % TM == 0 else TM,");
    assert!(refusal("tile TM=128", &asks).contains("no tile size `TM`"), "no name, no number");
    let asks = PRODUCT.replace("    grid = (", "    even = M % TM == 0\n    grid = (");
    assert!(after("tile TM=128", &asks).contains("TM, TN = 128, 32"));
}

/// PRODUCT with descriptors that the host makes.
const BOXES: &str = "\
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def product(a, b, c, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    row, col = tl.program_id(0) * TM, tl.program_id(1) * TN
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for k in range(0, K, TK):
        acc = tl.dot(a.load([row, k]), b.load([k, col]), acc)
    c.store([row, col], acc.to(c.dtype))


def kernel_function(a, b, c):
    TM, TN, TK = 128, 64, 32
    a, b, c = (
        TensorDescriptor.from_tensor(a, [TM, TK]), TensorDescriptor.from_tensor(b, [TK, TN]),
        TensorDescriptor.from_tensor(c, [TM, TN]),
    )
    product[(triton.cdiv(c.shape[0], TM), triton.cdiv(c.shape[1], TN))](a, b, c, a.shape[1], TM=TM, TN=TN, TK=TK)
";

#[test]
fn tiles_that_descriptors_of_the_host_bring_follow_their_names() {
    let changed = after("tile TM=64 TN=128 TK=64", BOXES);
    assert!(changed.contains("TM, TN, TK = 64, 128, 64"), "{changed}");
    let written = BOXES.replace("TK=TK)", "TK=32)");
    assert!(
        refusal("tile TK=64", &written).contains("no tile size `TK`"),
        "the box would not follow"
    );
}
