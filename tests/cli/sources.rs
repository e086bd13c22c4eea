//! Kernel files that cannot be used, told apart before anything is started.

use crate::support::{Desk, SOFTMAX, TINY_CONTRACT};

#[test]
fn a_file_that_is_no_kernel_is_refused_with_its_name_and_line() {
    let not_utf8 = [SOFTMAX.as_bytes(), b"\n# caf\xe9\n"].concat();
    let huge = format!("{SOFTMAX}\n{}", "# filler\n".repeat(10 << 17));
    let no_kernel = "def kernel_function(x):\n    return x\n";
    let files: [(&str, &[u8]); 5] = [
        ("prose.py", b"def kernel_function(x):\n    return x\n\nThis is no Python at all.\n"),
        ("latin1.py", &not_utf8),
        ("huge.py", huge.as_bytes()),
        ("plain.py", no_kernel.as_bytes()),
        ("empty.py", b""),
    ];
    let mut said = String::new();
    for (name, text) in files {
        let desk = Desk::tiny();
        desk.write(name, text);
        let ran = desk.run(desk.kernelbrain(&["optimize", name, "--test", "test.py"]));
        ran.exits_with(2);
        said.push_str(&format!("{name}: {}\n", desk.anonymous(ran.error())));
        assert!(!desk.path("kernelbrain-out").exists(), "nothing was begun");
    }
    insta::assert_snapshot!("sources", said);
}

#[test]
fn a_path_that_leads_nowhere_is_named() {
    let desk = Desk::tiny();
    std::fs::create_dir(desk.path("folder.py")).unwrap();
    let asked: [&[&str]; 6] = [
        &["optimize", "missing.py", "--test", "test.py"],
        &["optimize", "kernel.py", "--test", "missing.py"],
        &["optimize", "folder.py", "--test", "test.py"],
        &["bench", "missing.py", "--test", "test.py"],
        &["audit", "missing.py"],
        &["recipes", "missing.py"],
    ];
    let mut said = String::new();
    for words in asked {
        let ran = desk.run(desk.kernelbrain(words));
        ran.exits_with(2);
        said.push_str(&format!("{}: {}\n", words.join(" "), desk.anonymous(ran.error())));
    }
    insta::assert_snapshot!("paths", said);
}

#[test]
fn a_kernel_without_a_contract_beside_it_asks_for_one() {
    let desk = Desk::tiny();
    std::fs::rename(desk.path("test.py"), desk.path("elsewhere.py")).unwrap();
    let ran = desk.run(desk.kernelbrain(&["optimize", "kernel.py"]));
    ran.exits_with(2).says("no contract lies beside kernel.py: name it with --test");
}

#[test]
fn a_kernel_without_the_entry_that_the_contract_calls_says_which_is_missing() {
    let desk = Desk::new(SOFTMAX.replace("def kernel_function", "def softmax"), TINY_CONTRACT);
    let ran = desk.run(desk.optimize(&["--budget", "60s"]));
    ran.exits_with(2).says("kernel_function");
    assert_eq!(desk.report()["outcome"], "failed");
}
