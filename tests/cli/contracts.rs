//! Contracts that cannot be used: one message that says where and what to do.

use crate::support::{Desk, Ran, SOFTMAX, TINY_CONTRACT};

/// The tiny contract with one thing changed.
fn with(from: &str, to: &str) -> String {
    assert!(TINY_CONTRACT.contains(from), "{from}");
    TINY_CONTRACT.replace(from, to)
}

fn optimized(contract: &str) -> (Desk, Ran) {
    let desk = Desk::new(SOFTMAX, contract);
    let ran = desk.run(desk.optimize(&["--budget", "60s", "--evaluations", "2"]));
    (desk, ran)
}

/// What `optimize` says of each contract that it refuses; exit status 2 for all.
fn refusals(contracts: &[(&str, String)]) -> String {
    let mut said = String::new();
    for (what, contract) in contracts {
        let (desk, ran) = optimized(contract);
        ran.exits_with(2);
        assert!(!desk.path("out/report.json").exists(), "{what}: there is nothing to report");
        assert!(desk.events("baseline_measured").is_empty());
        said.push_str(&format!("{what}: {}\n", desk.anonymous(ran.error())));
    }
    said
}

#[test]
fn contracts_that_do_not_import() {
    let said = refusals(&[
        ("syntax error", with("def reference(x):", "def reference(x:")),
        ("missing module", format!("{TINY_CONTRACT}\nimport no_such_module\n")),
        ("exits at import", format!("{TINY_CONTRACT}\nimport sys\nsys.exit(3)\n")),
        ("dies at import", format!("{TINY_CONTRACT}\nimport os\nos._exit(3)\n")),
        ("empty", String::new()),
    ]);
    insta::assert_snapshot!("contracts_import", said);
}

#[test]
fn contracts_that_lack_names() {
    let said = refusals(&[
        ("no reference", with("def reference", "def refrence")),
        ("no inputs", with("def make_inputs", "def inputs")),
        ("no such parameter", with("seed, rows, cols", "seed, rows, columns")),
        (
            "no cases",
            with("CASES = [{\"name\": \"tiny\", \"rows\": 2, \"cols\": 64}]", "CASES = []"),
        ),
    ]);
    insta::assert_snapshot!("contracts_names", said);
}

#[test]
fn references_that_fail() {
    let said = refusals(&[
        ("raises", with("return torch.softmax(x, dim=-1)", "return torch.softmax(x, dim=7)")),
        ("gives NaN", with("torch.softmax(x, dim=-1)", "torch.softmax(x, dim=-1) * float('nan')")),
        ("gives no tensor", with("torch.softmax(x, dim=-1)", "'softmax'")),
    ]);
    insta::assert_snapshot!("contracts_reference", said);
}

#[test]
fn inputs_that_do_not_fit() {
    let said = refusals(&[
        (
            "wrong device",
            with(
                "return (4 * torch.randn(rows, cols, generator=generator, device=device),)",
                "return (torch.randn(rows, cols, device='meta'),)",
            ),
        ),
        ("too big", with("\"rows\": 2, \"cols\": 64", "\"rows\": 1 << 25, \"cols\": 1 << 20")),
        (
            "raises",
            with("    generator =", "    raise ValueError('no inputs today')\n    generator ="),
        ),
    ]);
    let free = [(r"\d+ bytes \([\d.]+ GiB\) are free", "[so many] bytes are free")];
    insta::with_settings!({filters => free}, {
        insta::assert_snapshot!("contracts_inputs", said);
    });
}

#[test]
fn a_reference_that_does_not_end_is_stopped() {
    let contract = with(
        "    return torch.softmax",
        "    import time\n    time.sleep(600)\n    return torch.softmax",
    );
    let desk = Desk::new(SOFTMAX, &contract);
    let ran = desk.run(desk.optimize(&["--budget", "60s", "--reference-timeout", "3s"]));
    ran.exits_with(2).says("took more than 3 s; make it cheaper or raise --reference-timeout");
}

#[test]
fn what_a_contract_prints_disturbs_nobody() {
    let noise = "
import os, sys
print('\\x1b[31mgarbage\\x1b[0m' * 1000)
sys.stderr.write('{\"id\": 1, \"ok\": true}\\n' * 1000)
for descriptor in (1, 2):
    os.write(descriptor, b'{\"id\": 1, \"ok\": true}\\n')
";
    let (desk, ran) = optimized(&format!("{noise}{TINY_CONTRACT}"));
    ran.exits_with(0);
    assert!(!ran.stderr.contains("garbage"), "{}", ran.printed());
    assert!(["improved", "no_improvement"].contains(&desk.report()["outcome"].as_str().unwrap()));
}

#[test]
fn a_baseline_that_fails_its_own_contract_is_the_end_with_case_and_error() {
    let (desk, ran) = optimized(&with("torch.softmax(x, dim=-1)", "torch.softmax(x, dim=-1) + 1"));
    ran.exits_with(2).says("baseline fails its own contract: correctness").says("(case tiny)");
    let report = desk.report();
    assert_eq!(report["outcome"], "failed");
    assert!(report["reason"].as_str().unwrap().contains("times the tolerance"), "{report:#}");
    assert!(report["best"].is_null());
    assert_eq!(desk.read("out/best.py"), desk.read("kernel.py"));
    assert!(!desk.path("out/best.patch").exists());
    desk.run(desk.kernelbrain(&["runs"])).exits_with(0).says("failed");
}

#[test]
fn sizes_that_depend_on_the_seed_reject_nobody() {
    let contract = TINY_CONTRACT.replace("def make_inputs", "def _sized");
    let seeded = "

def make_inputs(device, seed, **case):
    (x,) = _sized(device, seed, **case)
    return (x[:, : x.shape[1] - seed % 7].contiguous(),)
";
    let desk = Desk::new(SOFTMAX, &format!("{contract}{seeded}"));
    let ran = desk.run(desk.optimize(&["--budget", "60s", "--evaluations", "5"]));
    ran.exits_with(0);
    for evaluated in desk.events("evaluated") {
        assert_eq!(evaluated["evaluation"]["verdict"], "accepted", "{evaluated:#}");
    }
}
