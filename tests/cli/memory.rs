//! `kernelbrain memory`: what earlier runs have shown, listed, passed on and forgotten.

use serde_json::Value;

use crate::support::{Desk, Ran};

/// Two runs of a softmax on an H200, and one of an addition in the interpreter.
const EXPERIENCE: &str = include_str!("support/experience.jsonl");

fn memory(desk: &Desk, arguments: &[&str]) -> Ran {
    desk.run(desk.kernelbrain(&[&["memory"], arguments].concat()))
}

/// A desk whose database knows it.
fn experienced() -> Desk {
    let desk = Desk::tiny();
    desk.write("theirs.jsonl", EXPERIENCE);
    let imported = memory(&desk, &["import", "theirs.jsonl"]);
    assert_eq!(imported.exits_with(0).stdout, "15 observations read, 15 new\n");
    desk
}

#[test]
fn a_list_says_what_to_use_and_what_to_avoid() {
    let desk = Desk::tiny();
    assert_eq!(memory(&desk, &["list"]).exits_with(0).stdout, "no experience yet\n");
    let desk = experienced();
    insta::assert_snapshot!("memory_list", memory(&desk, &["list"]).exits_with(0).stdout);

    let only = memory(&desk, &["list", "--arch", "cpu"]);
    assert!(only.exits_with(0).stdout.starts_with("elementwise/f32:1 on cpu\n"));
    let none = memory(&desk, &["list", "--operator", "elementwise/f32:1", "--arch", "sm_90"]);
    none.exits_with(0).says("no experience of that kind");
}

#[test]
fn a_list_for_programs_has_everything_in_it() {
    let desk = experienced();
    let listed = memory(&desk, &["list", "--json", "--move", "online-softmax"]);
    let listed: Value = serde_json::from_str(&listed.exits_with(0).stdout).unwrap();
    insta::assert_snapshot!("memory_json", format!("{listed:#}"));
    let empty = memory(&Desk::tiny(), &["list", "--json"]);
    let empty: Value = serde_json::from_str(&empty.exits_with(0).stdout).unwrap();
    assert_eq!(empty, serde_json::json!({"schema": 1, "moves": []}));
}

#[test]
fn what_one_machine_exports_another_imports_once() {
    let (one, other) = (experienced(), Desk::tiny());
    let written = memory(&one, &["export", "mine.jsonl"]);
    assert_eq!(written.exits_with(0).stdout, "15 observations written to mine.jsonl\n");
    assert_eq!(memory(&one, &["export"]).exits_with(0).stdout, one.read("mine.jsonl"));

    other.write("theirs.jsonl", one.read("mine.jsonl"));
    memory(&other, &["import", "theirs.jsonl"]).exits_with(0).says("15 observations read, 15 new");
    memory(&other, &["import", "theirs.jsonl"]).exits_with(0).says("15 observations read, 0 new");
    let lists = [&one, &other].map(|desk| memory(desk, &["list"]).stdout);
    assert_eq!(lists[0], lists[1]);

    let part = memory(&one, &["export", "--arch", "cpu"]);
    assert_eq!(part.exits_with(0).stdout.lines().count(), 2);
}

#[test]
fn one_bad_line_and_nothing_is_imported() {
    let desk = Desk::tiny();
    let first = EXPERIENCE.lines().next().unwrap();
    let hostile = first.replace("CompilationError", "\\u001b]0;owned\\u0007");
    let files: [(&str, Vec<u8>); 5] = [
        ("prose.jsonl", format!("{first}\n\nonce upon a time\n").into()),
        ("hostile.jsonl", format!("{first}\n{hostile}\n").into()),
        ("field.jsonl", first.replace("\"run\"", "\"\u{1b}[31mrun\"").into()),
        ("bytes.jsonl", [first.as_bytes(), b"\n\xff\xfe\n"].concat()),
        ("negative.jsonl", first.replace("\"failure\"", "\"gain\": -1.0, \"failure\"").into()),
    ];
    let mut said = String::new();
    for (name, text) in &files {
        desk.write(name, text);
        let ran = memory(&desk, &["import", name]);
        assert!(!ran.exits_with(2).stderr.contains('\u{1b}'), "{}", ran.printed());
        said.push_str(&format!("{}\n", ran.error()));
    }
    for name in ["missing.jsonl", "tmp"] {
        said.push_str(&format!("{}\n", memory(&desk, &["import", name]).exits_with(2).error()));
    }
    insta::assert_snapshot!("memory_bad_lines", said);
    assert_eq!(memory(&desk, &["list"]).exits_with(0).stdout, "no experience yet\n");
}

#[test]
fn text_that_reorders_a_terminal_is_cleaned() {
    let desk = Desk::tiny();
    let first = EXPERIENCE.lines().next().unwrap().replace(", \"repaired\": true", "");
    desk.write(
        "theirs.jsonl",
        first.replace("CompilationError", "\u{202e}rorrE").replace("loop", "\u{202e}pool"),
    );
    memory(&desk, &["import", "theirs.jsonl"]).exits_with(0).says("1 observation read, 1 new");
    let listed = memory(&desk, &["list"]);
    assert!(!listed.exits_with(0).says("build: rorrE").stdout.contains('\u{202e}'));
}

#[test]
fn forgetting_says_how_much_and_asks_what() {
    let desk = experienced();
    let unasked = memory(&desk, &["forget"]);
    insta::assert_snapshot!(unasked.exits_with(2).error(), @"say what to forget: --operator, --arch, --move, --run or several of them; or --all");
    memory(&desk, &["forget", "--all", "--run", "any"]).exits_with(2).says("cannot be used with");

    let forget = |arguments: &[&str]| {
        memory(&desk, &[&["forget"], arguments].concat()).exits_with(0).stdout.clone()
    };
    let nothing = forget(&["--move", "no-such-task"]);
    assert!(nothing.starts_with("nothing forgotten: no experience of that kind"), "{nothing}");
    assert_eq!(forget(&["--move", "row-on-chip"]), "1 observation forgotten\n");
    assert_eq!(
        forget(&["--move", "recipe stages", "--run", "20261110-100000-softmax-3f2a"]),
        "4 observations forgotten\n"
    );
    assert_eq!(forget(&["--operator", "elementwise/f32:1"]), "2 observations forgotten\n");
    assert_eq!(forget(&["--all"]), "8 observations forgotten\n");
    assert_eq!(memory(&desk, &["list"]).stdout, "no experience yet\n");
}
