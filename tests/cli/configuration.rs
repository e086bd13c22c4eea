//! kernelbrain.toml, the command line and the machine: what cannot be as it was asked for.

use std::os::unix::fs::PermissionsExt;

use crate::support::Desk;

const KERNEL: &str = r#"
[[kernel]]
name = "softmax"
source = "kernel.py"
entry = "kernel:kernel_function"
test = "test.py"
"#;

#[test]
fn mistakes_in_the_configuration_file_are_shown_where_they_are() {
    let files = [
        ("unknown key", format!("{KERNEL}tset = \"test.py\"\n")),
        ("not TOML", "[[kernel]\nname = \n".to_owned()),
        ("missing field", KERNEL.replace("entry = \"kernel:kernel_function\"\n", "")),
        ("bad entry", KERNEL.replace("kernel:kernel_function", "kernel_function")),
        ("missing source", KERNEL.replace("kernel.py", "missing.py")),
        ("missing contract", KERNEL.replace("test.py", "missing.py")),
        ("outside", KERNEL.replace("\"kernel.py\"", "\"../../etc/passwd\"")),
        ("no kernel", "[search]\nbudget = \"1m\"\n".to_owned()),
        ("two kernels", format!("{KERNEL}{}", KERNEL.replace("softmax", "other"))),
        ("bad budget", format!("{KERNEL}[search]\nbudget = \"ten\"\n")),
        ("unknown symbol", format!("{KERNEL}edit = [\"_softmax\", \"softmax\"]\n")),
        ("unbalanced quote", format!("{KERNEL}tests = \"python -c '\"\n")),
    ];
    let mut said = String::new();
    for (what, text) in files {
        let desk = Desk::tiny();
        desk.write("kernelbrain.toml", text);
        let ran = desk.run(desk.kernelbrain(&["optimize", "--device", "cpu", "--plain"]));
        ran.exits_with(2);
        said.push_str(&format!("{what}: {}\n", desk.anonymous(ran.error())));
    }
    insta::assert_snapshot!("configuration", said);

    let desk = Desk::tiny();
    desk.write("kernelbrain.toml", KERNEL);
    // Named without a folder.
    let named = ["optimize", "--config", "kernelbrain.toml", "--kernel", "rms_norm"];
    desk.run(desk.kernelbrain(&named)).exits_with(2).says("there are: softmax");
    let ran = desk.run(desk.kernelbrain(&["optimize", "--kernel", "rms_norm"]));
    ran.exits_with(2).says("lists no kernel \"rms_norm\"; there are: softmax");
    let nothing = Desk::tiny();
    let ran = nothing.run(nothing.kernelbrain(&["optimize"]));
    ran.exits_with(2).says("name a kernel");
}

#[test]
fn an_option_that_makes_no_sense_is_refused() {
    let desk = Desk::tiny();
    let options: [&[&str]; 6] = [
        &["--budget", "0s"],
        &["--budget", "soon"],
        &["--gamma", "0.5"],
        &["--gamma", "NaN"],
        &["--device", "tpu"],
        &["--evaluations", "-1"],
    ];
    for option in options {
        desk.run(desk.optimize(option)).exits_with(2);
    }
    assert!(!desk.path("out").exists());
}

#[test]
fn a_python_without_torch_is_named_with_what_it_lacks() {
    let desk = Desk::tiny();
    // Python itself, without its packages.
    let bare = std::process::Command::new("python3")
        .args(["-m", "venv", "--without-pip", "bare"])
        .current_dir(desk.folder())
        .status()
        .unwrap();
    assert!(bare.success());
    let ran = desk.run(desk.optimize(&["--python", "bare/bin/python"]));
    ran.exits_with(3).says("bare/bin/python cannot import torch, triton, numpy").says("doctor");

    desk.write("stub", "#!/bin/sh\necho this is no Python >&2\nexit 7\n");
    let executable = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(desk.path("stub"), executable).unwrap();
    let ran = desk.run(desk.optimize(&["--python", "./stub"]));
    ran.exits_with(3).says("./stub is not a working Python 3: this is no Python");
    let ran = desk.run(desk.optimize(&["--python", "./nowhere"]));
    ran.exits_with(3).says("cannot run ./nowhere");
}

#[test]
fn a_gpu_that_is_not_there_is_not_used() {
    let desk = Desk::tiny();
    // Nor is one that is there but hidden.
    let mut command = desk.kernelbrain(&["optimize", "kernel.py", "--test", "test.py"]);
    command.args(["--device", "cuda:7", "--plain"]).env("CUDA_VISIBLE_DEVICES", "");
    let ran = desk.run(command);
    ran.exits_with(3).says("GPU").says("--device cpu");
}

#[test]
fn a_budget_that_ends_before_the_baseline_is_measured_says_so() {
    let desk = Desk::tiny_with("import time", "time.sleep(2)");
    let ran = desk.run(desk.optimize(&["--budget", "1s"]));
    ran.exits_with(4).says("budget").says("baseline");
    assert!(!desk.path("out/report.json").exists());
}
