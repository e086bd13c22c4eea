//! What recipes make of a kernel, run in Triton's interpreter against a contract.

use std::process::Command;

use crate::support::{Desk, Ran, python};

/// A matrix product in tiles of 64 by 32: four programs for the contract's first case, nine for
/// the other.
const PRODUCT: &str = include_str!("../../src/generate/recipe/kernels/product.py");
const CONTRACT: &str = include_str!("support/product_contract.py");
const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harness/check_recipes.py");

/// Lays the kernel after `recipe` among the candidates.
fn candidate(desk: &Desk, recipe: &str) -> String {
    let applied = desk.run(desk.kernelbrain(&["recipes", "kernel.py", "--apply", recipe]));
    applied.exits_with(0);
    lay(desk, &applied.stdout);
    applied.stdout.clone()
}

fn lay(desk: &Desk, text: &str) {
    let folder = desk.path("candidates");
    std::fs::create_dir_all(&folder).unwrap();
    let number = std::fs::read_dir(&folder).unwrap().count();
    std::fs::write(folder.join(format!("{number}.py")), text).unwrap();
}

fn check(desk: &Desk) -> Ran {
    let mut command = Command::new(python());
    desk.seat(command.args([CHECK, "test.py", "candidates"]).env("TRITON_INTERPRET", "1"));
    desk.run(command)
}

#[test]
fn a_split_with_a_limit_is_right_on_both_sides_of_it() {
    let desk = Desk::new(PRODUCT, CONTRACT);
    let recipes = [
        "split 4 below 6",
        // More chunks than rounds of the loop: some chunks are empty.
        "split 16 below 6",
        "split 4 below 6; split 3; split 3 below 5",
        "split 4 below 6; tile TM=32 TN=64",
        "split 4 below 6; tile product_kernel_partial.TK=16; tile product_kernel.TK=64",
        "split 4 below 6; swizzle group=2 product_kernel_combine; swizzle group=2 product_kernel",
        "split 4 below 6; pipeline start 2; unroll start#2 2; warps 8; evict first a_ptr",
    ];
    for recipe in recipes {
        candidate(&desk, recipe);
    }
    let checked = check(&desk);
    checked.exits_with(0);
    assert!(checked.stdout.contains("7 of 7 candidates are right"), "{}", checked.printed());
}

#[test]
fn each_side_of_the_limit_runs_its_own_kernels() {
    let desk = Desk::new(PRODUCT, CONTRACT);
    let split = candidate(&desk, "split 4 below 6");
    lay(&desk, &split.replace("tl.store(acc_at, acc)", "tl.store(acc_at, acc + 1)"));
    let (stages, kernel) = split.rsplit_once("@triton.jit").unwrap();
    lay(&desk, &format!("{stages}@triton.jit{}", kernel.replace("acc += ", "acc -= ")));
    let checked = check(&desk);
    checked.exits_with(1);
    let wrong = |name: &str| {
        let line = checked.stdout.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit_once("wrong on ").unwrap().1.to_owned()
    };
    assert!(wrong("1.py").starts_with("{'M': 70,"), "{}", checked.printed());
    assert!(wrong("2.py").starts_with("{'M': 150,"), "{}", checked.printed());
    assert!(checked.stdout.contains("1 of 3 candidates are right"), "{}", checked.printed());
}

/// A kernel that a forward pass does not launch, as there are many in files of real repositories.
const SPARE: &str = "


@triton.jit
def _spare(spare_ptr, dy_ptr, n, SPARE: tl.constexpr):
    at = tl.program_id(0) * SPARE + tl.arange(0, SPARE)
    tl.store(spare_ptr + at, tl.load(dy_ptr + at, mask=at < n), mask=at < n)


def backward(dy):
    spare = torch.empty_like(dy)
    SPARE = 128
    _spare[(triton.cdiv(dy.numel(), SPARE),)](spare, dy, dy.numel(), SPARE=SPARE, num_warps=4)
    return spare
";

#[test]
fn kernels_that_no_case_launches_are_left_alone() {
    let desk = Desk::tiny();
    desk.write("kernel.py", format!("{}{SPARE}", desk.read("kernel.py")));
    desk.run(desk.kernelbrain(&["recipes", "kernel.py"])).exits_with(0).says("SPARE=256");
    let short = ["--budget", "60s", "--seeds", "40", "--evaluations", "4"];
    desk.run(desk.optimize(&short)).exits_with(0);
    let added = desk.events("candidate_added");
    let moves: Vec<String> = added.iter().map(|it| it["candidate"]["move"].to_string()).collect();
    assert!(moves.len() > 20, "{moves:#?}");
    let spare: Vec<_> = moves.iter().filter(|it| it.to_lowercase().contains("spare")).collect();
    assert!(spare.is_empty(), "{spare:#?}");
}
