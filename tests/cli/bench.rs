//! `bench`: one or several files by all gates, for people and for programs.

use serde_json::Value;

use crate::support::{Desk, Ran, SOFTMAX};

fn bench(desk: &Desk, words: &[&str]) -> Ran {
    desk.run(desk.kernelbrain(&[&["bench"], words, &["--device", "cpu"]].concat()))
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

/// The softmax with the library doing its work.
fn passed_through() -> String {
    SOFTMAX.replace("    return ", "    return torch.softmax(x, dim=-1)\n    return ")
}

#[test]
fn an_honest_kernel_is_accepted_by_itself() {
    let desk = Desk::tiny();
    let ran = bench(&desk, &["kernel.py", "--test", "test.py"]);
    ran.exits_with(0).says("✓ kernel.py accepted");
    ran.says("Triton's interpreter stands in for a GPU here");
}

#[test]
fn several_files_get_a_verdict_each_and_one_rejection_decides_the_end() {
    let desk = Desk::tiny();
    desk.write("library.py", passed_through());
    let words = ["kernel.py", "library.py", "--test", "test.py", "--no-timing"];
    let ran = bench(&desk, &words);
    ran.exits_with(1).says("✓ kernel.py accepted").says("✗ library.py rejected by the policy gate");
    ran.says("return torch.softmax(x, dim=-1)").says("1 of 2 files accepted");
    ran.says("what a repository's own does by habit is allowed with --against that file");

    let ran = bench(&desk, &[&words[..], &["--json"]].concat());
    ran.exits_with(1);
    let said = json(&ran);
    assert_eq!(said["schema"], 1);
    assert!(said["device"].is_string());
    let [kernel, library] = [&said["results"][0], &said["results"][1]];
    assert_eq!(
        (kernel["file"].as_str(), kernel["verdict"].as_str()),
        (Some("kernel.py"), Some("accepted"))
    );
    assert_eq!(kernel["cases"][0]["case"], "tiny");
    assert!(kernel["cases"][0]["latency_us"].is_null(), "nothing was to be timed");
    assert_eq!(
        (library["verdict"].as_str(), library["gate"].as_str()),
        (Some("rejected"), Some("policy"))
    );
    assert!(library["evidence"]["line"].is_u64(), "{library}");
}

#[test]
fn times_in_the_interpreter_decide_nothing_and_nothing_is_faster_than_itself() {
    let desk = Desk::tiny();
    desk.write("narrower.py", SOFTMAX.replace("BLOCK = 32", "BLOCK = 16"));
    let ran =
        bench(&desk, &["narrower.py", "kernel.py", "--test", "test.py", "--against", "kernel.py"]);
    ran.exits_with(1).says("✓ narrower.py accepted").says("in Triton's interpreter: ");
    ran.says("✗ kernel.py rejected by the performance gate");
    ran.says("is the very source that it is compared with").says("1 of 2 files accepted");
}

#[test]
fn what_the_baseline_does_on_some_sizes_only_is_its_habit_there() {
    let desk = Desk::tiny();
    let pads = SOFTMAX.replace(
        "    rows, cols = x.shape\n",
        "    given = x.shape[1]\n    if given % 16:\n        \
         x = torch.nn.functional.pad(x, (0, 16 - given % 16), value=-float('inf'))\n    \
         rows, cols = x.shape\n",
    );
    let pads = pads.replace("    return y", "    return y[:, :given].contiguous()");
    desk.write("kernel.py", &pads);
    desk.write("wider.py", pads.replace("BLOCK = 32", "BLOCK = 64"));
    let both = r#"CASES = [{"name": "even", "rows": 2, "cols": 64}, {"name": "odd", "rows": 2, "cols": 60}]"#;
    let contract = desk.read("test.py");
    let single = contract.lines().find(|line| line.starts_with("CASES")).unwrap();
    desk.write("test.py", contract.replace(single, both));
    let words = ["wider.py", "--test", "test.py", "--against", "kernel.py", "--no-timing"];
    bench(&desk, &words).exits_with(0).says("✓ wider.py accepted");
}

#[test]
fn a_baseline_that_is_wrong_itself_is_no_measure() {
    let desk = Desk::tiny();
    desk.write("wrong.py", SOFTMAX.replace("tl.exp(", "tl.exp2("));
    let ran = bench(&desk, &["kernel.py", "--test", "test.py", "--against", "wrong.py"]);
    ran.exits_with(2).says("the baseline does not pass its own contract");
}

#[test]
fn what_the_baseline_gets_wrong_as_well_is_noted_and_not_held_against_a_kernel() {
    let desk = Desk::tiny();
    // Neither subtracts the maximum: large values overflow in both.
    let careless = SOFTMAX.replace("- row_max", "- 0.0 * row_max");
    assert_ne!(careless, SOFTMAX, "the kernel subtracts something else now");
    desk.write("kernel.py", &careless);
    let alone = bench(&desk, &["kernel.py", "--test", "test.py", "--no-timing"]);
    alone.exits_with(1).says("correctness gate").says("for inputs");
    let words = ["kernel.py", "--test", "test.py", "--against", "kernel.py", "--no-timing"];
    let beside = bench(&desk, &words);
    beside.exits_with(0).says("the baseline is wrong as well");
}

#[test]
fn a_contract_that_can_be_probed_no_further_is_used_as_it_is() {
    let desk = Desk::tiny();
    let contract = std::fs::read_to_string(desk.path("test.py")).unwrap();
    let stubborn = contract.replace(
        "def reference(x):",
        "def reference(x):\n    assert x.abs().max() < 20 and x.shape == (2, 64), 'not such inputs'",
    );
    assert_ne!(stubborn, contract);
    desk.write("test.py", stubborn);
    let ran = bench(&desk, &["kernel.py", "--test", "test.py", "--no-timing"]);
    ran.exits_with(0).says("not tried").says("not such inputs");
}

#[test]
fn a_missing_file_ends_it_before_anything_is_judged() {
    let desk = Desk::tiny();
    let ran = bench(&desk, &["kernel.py", "missing.py", "--test", "test.py"]);
    ran.exits_with(2);
    assert!(ran.error().contains("cannot read missing.py"), "{}", ran.error());
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
}
