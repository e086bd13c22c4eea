//! What a maintainer who clicks "apply" gets.

mod diffs;
mod github;
mod random;

use super::*;

const BASE: &str = "import triton\n\n\ndef kernel(x):\n    return x\n\n\ndef other(x):\n    y = x\n    \
    z = y\n    w = z\n    v = w\n    return v\n";

/// The pull request changed `return x`; its hunk shows lines 2 to 8.
fn head() -> String {
    BASE.replace("return x\n", "return x + 1\n")
}

fn offered(base: &str, head: &str, verified: &str) -> Result<Vec<Suggestion>, NoSuggestion> {
    let patch = github::patch(base, head, 3);
    let suggestions = suggest("k.py", head, verified, &FileDiff::parse(&patch).unwrap())?;
    let applied = github::apply_batch(head, &patch, &suggestions).unwrap();
    assert_eq!(applied, verified, "{suggestions:#?}");
    Ok(suggestions)
}

fn refused(base: &str, head: &str, verified: &str) -> String {
    offered(base, head, verified).unwrap_err().to_string()
}

#[test]
fn one_line_is_one_comment_without_a_start() {
    let verified = head().replace("x + 1", "x + 2");
    let suggestions = offered(BASE, &head(), &verified).unwrap();
    let [only] = &suggestions[..] else { panic!("{suggestions:?}") };
    assert_eq!((only.start_line, only.line), (None, 5));
    assert_eq!(only.body, "```suggestion\n    return x + 2\n```");
    assert_eq!(only.replacement, "    return x + 2\n");
}

#[test]
fn prose_before_the_block_changes_nothing() {
    let verified = head().replace("x + 1", "x + 2");
    let mut suggestions = offered(BASE, &head(), &verified).unwrap();
    let key = suggestions[0].key();
    suggestions[0].body = format!("Apply all as one batch.\n\n{}", suggestions[0].body);
    assert_eq!(apply(&head(), &suggestions).unwrap(), verified);
    assert_ne!(suggestions[0].key(), key, "another body is another comment");
}

#[test]
fn an_inserted_line_takes_the_line_before_it_along() {
    let verified = head().replace("def kernel", "@jit\ndef kernel");
    let suggestions = offered(BASE, &head(), &verified).unwrap();
    // The line before is empty, and would not do as the only one either way.
    assert_eq!(suggestions[0].body, "```suggestion\n\n@jit\n```");
    assert_eq!((suggestions[0].start_line, suggestions[0].line), (None, 3));
}

#[test]
fn an_insertion_above_the_first_line_takes_the_line_after_it() {
    let verified = format!("# fast\n{}", "a\nb\n");
    let suggestions = offered("", "a\nb\n", &verified).unwrap();
    assert_eq!(suggestions[0].body, "```suggestion\n# fast\na\n```");
}

#[test]
fn an_empty_block_deletes() {
    let verified = head().replace("    return x + 1\n", "");
    let suggestions = offered(BASE, &head(), &verified).unwrap();
    assert_eq!((&*suggestions[0].body, suggestions[0].line), ("```suggestion\n```", 5));
    assert_eq!(suggestions[0].replacement, "");
}

#[test]
fn a_block_is_never_only_an_empty_line() {
    let suggestions = offered("", "a\nb\nc\n", "a\n\nc\n").unwrap();
    assert_eq!(suggestions[0].body, "```suggestion\na\n\n```");
    assert_eq!((suggestions[0].start_line, suggestions[0].line), (Some(1), 2));
    let lonely = FileDiff::parse("@@ -1,0 +2 @@\n+b").unwrap();
    let said = suggest("k.py", "a\nb\nc\n", "a\n\nc\n", &lonely).unwrap_err();
    assert_eq!(said, NoSuggestion::OnlyEmptyLines);
}

#[test]
fn a_line_outside_of_the_diff_refuses_the_whole_kernel() {
    let verified = head().replace("x + 1", "x + 2").replace("v = w", "v = w * 2");
    let said = refused(BASE, &head(), &verified);
    assert_eq!(said, "it needs lines that the pull request's diff does not show (line 12)");
    let verified = head().replace("import triton\n", "import torch\n").replace("z = y", "z = 1");
    assert!(refused(BASE, &head(), &verified).ends_with("(lines 1 and 10)"));
}

#[test]
fn changes_near_one_another_are_one_comment_and_far_ones_come_lowest_first() {
    let head = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
    let near = "A\nb\nc\nd\nE\nf\ng\nh\ni\nj\nk\n";
    let one = offered("", head, near).unwrap();
    assert_eq!((one.len(), one[0].start_line, one[0].line), (1, Some(1), 5));
    let far = "A\nb\nc\nd\ne\nF\ng\nh\ni\nj\nK\n";
    let lines: Vec<u32> = offered("", head, far).unwrap().iter().map(|s| s.line).collect();
    assert_eq!(lines, [11, 6, 1]);
}

#[test]
fn no_comment_bridges_hunks_that_touch() {
    let head = "a\nb\nc\nd\n";
    let touching =
        FileDiff::parse("@@ -1,2 +1,2 @@\n a\n-x\n+b\n@@ -3,2 +3,2 @@\n-y\n+c\n d").unwrap();
    let across = suggest("k.py", head, "a\nB\nC\nd\n", &touching).unwrap_err();
    assert_eq!(across, NoSuggestion::AcrossHunks { lines: vec![2..=3] });
    assert!(across.to_string().contains("more than one hunk"));
    let apart = suggest("k.py", head, "A\nb\nC\nd\n", &touching).unwrap();
    let lines: Vec<_> = apart.iter().map(Suggestion::lines).collect();
    assert_eq!(lines, [3..=3, 1..=1]);
}

#[test]
fn a_fence_inside_does_not_end_the_block() {
    let verified =
        "def f():\n    \"\"\"\n```python\n````suggestion\n~~~\n`````\n~~~~~\n    \"\"\"\n";
    let suggestions = offered("", "def f():\n    pass\n", verified).unwrap();
    assert!(suggestions[0].body.starts_with("``````suggestion\n"), "{}", suggestions[0].body);
}

#[test]
fn a_new_file_is_one_hunk_and_takes_any_change() {
    let verified = head().replace("v = w", "v = w * 2").replace("import triton", "import torch");
    assert_eq!(offered("", &head(), &verified).unwrap().len(), 2);
}

#[test]
fn carriage_returns_are_refused_wherever_they_are() {
    let crlf = head().replace('\n', "\r\n");
    for (head, verified) in [
        (crlf.clone(), crlf.replace("x + 1", "x + 2")),
        (head(), head().replace("x + 1", "x + \r2")),
        (head() + "lone\rone\n", head()),
    ] {
        assert!(refused("", &head, &verified).contains("carriage returns"));
    }
}

#[test]
fn the_newline_at_the_end_stays_as_it_is_or_there_is_no_suggestion() {
    let cut = |text: String| text.trim_end().to_owned();
    let changed = head().replace("x + 1", "x + 2");
    for (head, verified) in [(head(), cut(changed.clone())), (cut(head()), changed.clone())] {
        assert!(refused("", &head, &verified).contains("newline at the end"));
    }
    // Without one on both sides, only the last line is out of reach.
    assert_eq!(offered("", &cut(head()), &cut(changed)).unwrap().len(), 1);
    let last = cut(head()).replace("return v", "return v, w");
    assert!(refused("", &cut(head()), &last).contains("newline at the end"));
}

#[test]
fn lines_end_at_newlines_only() {
    // What Python's splitlines would count: a form feed, a vertical tab, NEL, U+2028.
    let odd = "\u{c}\na\u{b}b\u{85}c\u{2028}d\n\ndef π():\n    return '🔥 日本'\n";
    let suggestions = offered("", odd, &odd.replace("🔥", "🧊")).unwrap();
    assert_eq!(suggestions[0].line, 5);
    for hidden in ["\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\0", "\u{feff}", "\u{1b}"] {
        let said = refused("", odd, &odd.replace("🔥", hidden));
        assert!(said.contains("may not carry"), "{said}");
    }
    assert!(refused("", odd, &odd.replace("a\u{b}b", "ab")).contains("U+000B"));
}

#[test]
fn a_very_long_line_fits_until_the_comment_is_full() {
    let long = |length| format!("x = '{}'\n", "é".repeat(length));
    assert!(offered("", "x = ''\n", &long(50_000)).is_ok());
    assert!(refused("", "x = ''\n", &long(60_000)).contains("does not fit"));
}

#[test]
fn more_than_ten_are_too_many() {
    let numbers = |step: usize| -> String {
        (0..88).map(|n| if n % step == 1 { format!("n{n}\n") } else { format!("{n}\n") }).collect()
    };
    let (head, verified) = (numbers(1000).replace("n1\n", "1\n"), numbers(9));
    assert_eq!(offered("", &head, &verified).unwrap().len(), 10);
    assert!(refused("", &head, &numbers(8)).contains("it would take 11 suggestions"));
}

#[test]
fn nothing_to_say_and_nothing_to_say_it_on() {
    assert_eq!(offered(BASE, &head(), &head()), Err(NoSuggestion::NothingToChange));
    let verified = head().replace("x + 1", "x + 2");
    let silent = suggest("k.py", &head(), &verified, &FileDiff::default());
    assert!(silent.unwrap_err().to_string().contains("shows no diff"));
    let empty = suggest("k.py", "", "a\n", &FileDiff::default());
    assert!(empty.is_err());
    // The diff of an older commit.
    let diff = FileDiff::parse(&github::patch(BASE, &head(), 3)).unwrap();
    let moved = suggest("k.py", &format!("#\n{}", head()), &verified, &diff).unwrap_err();
    assert!(matches!(moved, NoSuggestion::OtherCommit { line: 2 }), "{moved:?}");
}

#[test]
fn a_batch_that_contradicts_itself_is_not_applied() {
    let comment = |start_line, line, body: &str| Suggestion {
        path: "k.py".into(),
        start_line,
        line,
        body: body.into(),
        replacement: String::new(),
    };
    let delete = "```suggestion\n```";
    let cases = [
        (vec![comment(Some(1), 2, delete), comment(None, 2, delete)], "more than one suggestion"),
        (vec![comment(Some(2), 2, delete)], "its range is none"),
        (vec![comment(None, 4, delete)], "not in the file"),
        (vec![comment(None, 0, delete)], "not in the file"),
        (vec![comment(None, 1, "```python\n```")], "exactly one"),
        (vec![comment(None, 1, &format!("{delete}\n\n{delete}"))], "exactly one"),
    ];
    for (batch, why) in cases {
        let said = apply("a\nb\nc\n", &batch).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn what_is_rewritten_as_a_whole_is_one_change_however_long() {
    let lines = |name: &str| (0..5_000).map(|n| format!("{name}{n}\n")).collect::<String>();
    let (head, verified) = (lines("a"), lines("b"));
    let around = |middle: &str| format!("first\nsecond\n{middle}last\n");
    let suggestions = offered("", &around(&head), &around(&verified)).unwrap();
    let [only] = &suggestions[..] else { panic!("{}", suggestions.len()) };
    assert_eq!(only.lines(), 3..=5_002);
    assert_eq!(only.replacement, verified);
}
