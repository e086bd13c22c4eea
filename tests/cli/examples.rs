//! Every form of contract that the examples show, through the whole loop.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::support::{Desk, Ran};

const SHORT: [&str; 4] = ["--budget", "60s", "--evaluations", "4"];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Optimises two files of the examples, named from the desk.
fn optimised(desk: &Desk, source: &str, contract: &str) -> Ran {
    let (source, contract) = (examples().join(source), examples().join(contract));
    let mut arguments = vec!["optimize", source.to_str().unwrap()];
    arguments.extend(["--test", contract.to_str().unwrap()]);
    arguments.extend(["--device", "cpu", "--out", "out", "--plain"]);
    arguments.extend(SHORT);
    desk.run(desk.kernelbrain(&arguments))
}

/// Finished, with an honest outcome and cases that were measured.
fn finished(desk: &Desk, ran: &Ran, kind: &str) {
    ran.exits_with(0);
    let report = desk.report();
    let outcome = report["outcome"].as_str().unwrap();
    assert!(["improved", "no_improvement"].contains(&outcome), "{}", ran.printed());
    assert_eq!(report["target"]["kind"], kind);
    let cases = report["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    assert!(cases.iter().all(|case| case["baseline_us"].as_f64().unwrap() > 0.0), "{cases:#?}");
    assert!(report["budget"]["evaluations_spent"].as_u64().unwrap() <= 4);
}

#[test]
fn kernelbench() {
    let desk = Desk::tiny();
    let ran = optimised(&desk, "kernelbench/input_kernel.py", "kernelbench/test.py");
    finished(&desk, &ran, "kernel_bench");
}

#[test]
fn gpu_mode() {
    let desk = Desk::tiny();
    let ran = optimised(&desk, "gpumode/submission.py", "gpumode/task.yml");
    finished(&desk, &ran, "gpu_mode");
}

#[test]
fn gradients() {
    let desk = Desk::tiny();
    let ran = optimised(&desk, "gradients/input_kernel.py", "gradients/test.py");
    finished(&desk, &ran, "native");
}

/// A file that defines a gradient where the contract asks for one is judged without a baseline too, and
/// the way back may take longer than the way there: it is no part of what is timed.
#[test]
fn gradients_without_a_baseline_and_with_a_slow_way_back() {
    let desk = Desk::tiny();
    let example = examples().join("gradients");
    let text = fs::read_to_string(example.join("input_kernel.py")).unwrap();
    let launch = "        _backward_kernel[";
    assert_eq!(text.matches(launch).count(), 1);
    let repeated = text.replace(launch, &format!("        for _ in range(6):\n    {launch}"));
    desk.write("slow.py", repeated);
    let contract = example.join("test.py");
    let bench = ["bench", "slow.py", "--test", contract.to_str().unwrap(), "--device", "cpu"];
    desk.run(desk.kernelbrain(&[&bench[..], &["--no-timing"]].concat())).exits_with(0);
    let against_itself = [&bench[..], &["--no-timing", "--against", "slow.py"]].concat();
    desk.run(desk.kernelbrain(&against_itself)).exits_with(0);
}

#[test]
fn gradients_that_take_the_place_of_what_was_saved() {
    let desk = Desk::tiny();
    let example = examples().join("gradients");
    let mut text = fs::read_to_string(example.join("input_kernel.py")).unwrap();
    // As long as nobody asks for the gradients of one call twice, nobody notices.
    for (usual, saving) in [
        ("ctx.save_for_backward(gate, up)", "ctx.save_for_backward(gate.clone(), up.clone())"),
        ("torch.empty_like(gate), torch.empty_like(up)", "gate, up"),
    ] {
        assert_eq!(text.matches(usual).count(), 1, "{usual}");
        text = text.replace(usual, saving);
    }
    desk.write("saving.py", text);
    let contract = example.join("test.py");
    let bench = ["bench", "saving.py", "--test", contract.to_str().unwrap(), "--device", "cpu"];
    desk.run(desk.kernelbrain(&bench)).exits_with(0);
}

#[test]
fn shapes() {
    let desk = Desk::tiny();
    let ran = optimised(&desk, "shapes/input_kernel.py", "shapes/test.py");
    finished(&desk, &ran, "native");
    let cases = desk.report()["cases"].as_array().unwrap().len();
    assert_eq!(cases, 2, "every shape with every dtype");
}

#[test]
fn in_tree_with_the_repositorys_own_tests_as_the_last_gate() {
    let desk = Desk::tiny();
    let checkout = desk.path("checkout");
    copy(&examples().join("in_tree"), &checkout);
    let before = listing(&checkout);

    let mut command = desk.kernelbrain(&["optimize", "--kernel", "rms_norm", "--device", "cpu"]);
    command.args(["--out", "../out", "--plain", "--gamma", "1"]).args(SHORT).current_dir(&checkout);
    let ran = desk.run(command);
    finished(&desk, &ran, "native");
    assert_eq!(listing(&checkout), before, "the checkout was written");
    let report = desk.report();
    if report["outcome"] == "improved" {
        ran.says("the repository's tests passed on it");
        assert!(desk.read("out/best.patch").contains("a/tinynorm/kernels/rms_norm.py"));
    }
}

#[test]
fn in_tree_kernels_are_judged_as_they_stand_and_files_in_their_place() {
    let desk = Desk::tiny();
    let checkout = desk.path("checkout");
    copy(&examples().join("in_tree"), &checkout);
    let before = listing(&checkout);
    let bench = |more: &[&str]| {
        let words = [&["bench", "--kernel", "rms_norm", "--device", "cpu"], more].concat();
        let mut command = desk.kernelbrain(&words);
        command.current_dir(&checkout);
        desk.run(command)
    };
    bench(&[]).exits_with(0).says("tinynorm/kernels/rms_norm.py accepted");

    let kernel = fs::read_to_string(checkout.join("tinynorm/kernels/rms_norm.py")).unwrap();
    desk.write("narrow.py", kernel.replace("BLOCK=block_size(cols)", "BLOCK=64"));
    desk.write("wrong.py", kernel.replace("tl.sum(", "tl.max("));
    let ran = bench(&["../narrow.py", "../wrong.py", "--no-timing"]);
    ran.exits_with(1).says("✗ ../wrong.py rejected by the correctness gate").says("1 of 2 files");
    assert_eq!(listing(&checkout), before, "the checkout was written");
}

#[test]
fn in_tree_a_winner_that_the_repositorys_tests_reject_is_none() {
    let desk = Desk::tiny();
    let checkout = desk.path("checkout");
    copy(&examples().join("in_tree"), &checkout);
    // A kernel with something to gain, and tests that nothing but the source as it stood passes.
    let source = checkout.join("tinynorm/kernels/rms_norm.py");
    let kernel = fs::read_to_string(&source).unwrap();
    assert!(kernel.contains("BLOCK=block_size(cols)"), "{kernel}");
    fs::write(&source, kernel.replace("BLOCK=block_size(cols)", "BLOCK=64")).unwrap();
    fs::write(
        checkout.join("tests/test_rms_norm.py"),
        "import pathlib, unittest\n\
         class Frozen(unittest.TestCase):\n    \
         def test_nothing_changed(self):\n        \
         self.assertIn('BLOCK=64', pathlib.Path('tinynorm/kernels/rms_norm.py').read_text())\n",
    )
    .unwrap();
    let before = listing(&checkout);

    let mut command = desk.kernelbrain(&["optimize", "--kernel", "rms_norm", "--device", "cpu"]);
    command.args(["--out", "../out", "--plain", "--budget", "90s", "--evaluations", "4"]);
    command.current_dir(&checkout);
    let ran = desk.run(command);
    ran.exits_with(0);
    assert_eq!(listing(&checkout), before, "the checkout was written");
    let report = desk.report();
    assert_eq!(report["outcome"], "no_improvement", "{}", ran.printed());
    let rejected: Vec<_> = report["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|candidate| candidate["gate"] == "repository_tests")
        .collect();
    assert!(!rejected.is_empty(), "{report:#}");
    assert!(rejected[0]["reason"].as_str().unwrap().contains("unittest"), "{rejected:#?}");
    assert_eq!(desk.read("out/best.py"), fs::read_to_string(&source).unwrap());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let goal = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == "__pycache__" => {}
            true => copy(&entry.path(), &goal),
            false => drop(fs::copy(entry.path(), goal).unwrap()),
        }
    }
}

/// Every file and folder, with the time of its last change.
fn listing(folder: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        if about.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        all.insert(path, about.modified().unwrap());
    }
    all
}
