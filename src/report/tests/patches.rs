//! A patch is right when the tools that people use make the winner of it.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use proptest::prelude::*;

use crate::report::patch::unified;

fn run(folder: &Path, program: &str, arguments: &[&str]) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        // Whatever the machine is configured to do with line ends must not decide a test.
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .output()
        .unwrap()
}

/// Writes `old` at `path`, applies the patch to `new` with `tool`, gives what is there then.
fn applied(path: &str, old: &str, new: &str, tool: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, old).unwrap();
    let patch = unified(path, old, new);
    fs::write(folder.path().join("best.patch"), &patch).unwrap();
    let output = run(folder.path(), tool[0], &tool[1..]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\nof {old:?} to {new:?}:\n{patch}");
    fs::read_to_string(&file).unwrap()
}

const GIT: [&str; 4] = ["git", "apply", "--whitespace=nowarn", "best.patch"];
const PATCH: [&str; 5] = ["patch", "-p1", "--binary", "-i", "best.patch"];

/// A text of lines, with every kind of line end and sometimes none at the end of the file.
fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => prop::sample::select(vec!["a = 1", "b = 2", "", "    return x", "-- minus", "++ plus"]),
        1 => prop::sample::select(vec!["π = \u{1f525}", "tab\there", "lone\rreturn", "\\ backslash", "trailing "]),
    ];
    let end = prop_oneof![5 => Just("\n"), 1 => Just("\r\n")];
    let lines = prop::collection::vec((line, end), 1..30);
    (lines, any::<bool>()).prop_map(|(lines, cut)| {
        let text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        match (cut, text.trim_end_matches(['\r', '\n'])) {
            (true, trimmed) if !trimmed.is_empty() => trimmed.to_owned(),
            _ => text,
        }
    })
}

/// A text and an edited one: some lines replaced, removed, added.
fn edits() -> impl Strategy<Value = (String, String)> {
    (texts(), texts(), any::<u64>()).prop_map(|(old, other, mask)| {
        let (mut new, mut others) = (String::new(), other.split_inclusive('\n'));
        for (index, line) in old.split_inclusive('\n').enumerate() {
            match (mask >> (index * 2 % 62)) & 3 {
                0 => new.extend(others.next()),
                1 if mask % 3 == 0 => {}
                2 if mask % 5 == 0 => new.extend([line, others.next().unwrap_or("added\n")]),
                _ => new.push_str(line),
            }
        }
        if new.is_empty() { (old, other) } else { (old, new) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn git_applies_it_byte_for_byte((old, new) in edits().prop_filter("equal", |(a, b)| a != b)) {
        prop_assert_eq!(applied("kernels/softmax.py", &old, &new, &GIT), new);
    }

    #[test]
    fn patch_applies_it_byte_for_byte((old, new) in edits().prop_filter("equal", |(a, b)| a != b)) {
        prop_assert_eq!(applied("kernels/softmax.py", &old, &new, &PATCH), new);
    }
}

#[test]
fn names_with_spaces_quotes_and_accents_apply_too() {
    for path in
        ["my kernels/soft max.py", "say \"hi\".py", "back\\slash.py", "né/ü.py", "tab\there.py"]
    {
        assert_eq!(applied(path, "a\n", "b\n", &GIT), "b\n", "{path:?}");
    }
}

#[test]
fn a_path_never_leads_out_of_the_folder() {
    for path in ["/etc/kernels/x.py", "../../etc/kernels/x.py", "./etc/kernels/x.py"] {
        assert!(unified(path, "a\n", "b\n").starts_with("--- a/etc/kernels/x.py\n"), "{path}");
    }
}

#[test]
fn equal_texts_need_no_patch_and_a_missing_newline_is_told() {
    assert_eq!(unified("x.py", "a\n", "a\n"), "");
    assert_eq!(
        unified("x.py", "a\nb", "a\nc\n"),
        "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    );
}
