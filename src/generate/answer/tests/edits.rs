//! Edit blocks and diffs.

use super::*;

fn edit(search: &str, replace: &str) -> String {
    format!("<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n")
}

#[test]
fn an_edit_block_replaces_the_lines_it_names() {
    for answer in [
        edit("    BLOCK = 256", "    BLOCK = 1024"),
        format!("scale.py\n```python\n{}```", edit("    BLOCK = 256", "    BLOCK = 1024")),
        edit("    BLOCK = 256", "    BLOCK = 1024").replace('\n', "\r\n"),
        edit("    BLOCK = 256", "    BLOCK = 1024").replace("<<<<<<<", "  <<<<<<<<<"),
    ] {
        let rewrite = read(&answer).unwrap();
        assert_eq!((rewrite.source, rewrite.form), (changed(), Form::Edits), "{answer}");
    }
}

#[test]
fn wrong_indentation_is_forgiven_where_the_place_is_unique() {
    let answer = edit(
        "n = x.numel()\n\nBLOCK  =  256",
        "n = x.numel()\nif n > 9:\n    n += 0\nBLOCK = 1024",
    );
    let expected =
        SOURCE.replace("    BLOCK = 256", "    if n > 9:\n        n += 0\n    BLOCK = 1024");
    assert_eq!(read(&answer).unwrap().source, expected);
}

#[test]
fn several_blocks_apply_one_after_the_other() {
    let answer =
        edit("    BLOCK = 256", "    BLOCK = 512") + &edit("    BLOCK = 512", "    BLOCK = 1024");
    assert_eq!(read(&answer).unwrap().source, changed());
}

#[test]
fn an_edit_can_take_lines_out() {
    let answer =
        "<<<<<<< SEARCH\n    # One program a block.\n    inside = at < n\n=======\n>>>>>>> REPLACE";
    assert!(
        refusal(answer)
            .contains("it begins like line 9, but has `inside = at < n` where line 10 has")
    );
    let answer = "<<<<<<< SEARCH\nLIMIT = 7\n=======\n>>>>>>> REPLACE";
    assert!(!read(answer).unwrap().source.contains("LIMIT = 7"));
}

#[test]
fn what_cannot_be_found_or_is_not_unique_is_explained() {
    let error = refusal(&edit("    BLOCK = 128", "    BLOCK = 1024"));
    assert!(
        error.starts_with("Edit block 1 is not in the source: there is no line `BLOCK = 128`"),
        "{error}"
    );
    let twice = SOURCE.replace("LIMIT = 7", "LIMIT = 7\n\n\nLIMIT = 7");
    let context = context();
    let target =
        AnswerTarget { source: &twice, file: "scale.py", context: &context, exemplar: None };
    let error = parse(&edit("LIMIT = 7", "LIMIT = 8"), &target).unwrap_err().to_string();
    assert!(error.contains("occurs more than once in the source, at lines 16 and 19"), "{error}");
    assert!(refusal(&edit("", "x = 1")).contains("has no lines to be found"));
    assert!(refusal("<<<<<<< SEARCH\nLIMIT = 7\n=======\n").contains("breaks off"));
    assert!(
        refusal("<<<<<<< SEARCH\nLIMIT = 7\n>>>>>>> REPLACE").contains("has no line `=======`")
    );
}

#[test]
fn edits_of_other_files_are_passed_over() {
    let other = format!("tests/test_scale.py\n{}", edit("LIMIT = 7", "LIMIT = 8"));
    let answer = format!("{other}\nscale.py\n{}", edit("    BLOCK = 256", "    BLOCK = 1024"));
    let rewrite = read(&answer).unwrap();
    assert_eq!(rewrite.source, changed());
    assert_eq!(rewrite.notes, ["1 edits of other files were passed over"]);
    assert!(refusal(&other).contains("is of another file: only scale.py may change"));
}

#[test]
fn edits_that_fail_give_way_to_a_whole_file() {
    let answer = edit("nothing like it", "x = 1") + &fenced(&changed());
    let rewrite = read(&answer).unwrap();
    assert_eq!((rewrite.source, rewrite.form), (changed(), Form::WholeFile));
}

#[test]
fn an_edit_that_breaks_the_file_is_named() {
    let error = refusal(&edit("    BLOCK = 256", "    BLOCK = (1024"));
    assert!(error.contains("The file after your answer is not valid Python: line"), "{error}");
}

#[test]
fn diffs_are_found_by_their_lines_not_their_numbers() {
    let diff = "```diff\n--- a/scale.py\n+++ b/scale.py\n@@ -1,3 +1,3 @@\n     n = x.numel()\n-    BLOCK = 256\n+    BLOCK = 1024\n```";
    let rewrite = read(diff).unwrap();
    assert_eq!((rewrite.source, rewrite.form), (changed(), Form::Diff));
    let bare = "```diff\n-    BLOCK = 256\n+    BLOCK = 1024\n```";
    assert_eq!(read(bare).unwrap().source, changed());
    let both = format!("{}{diff}", diff.replace("scale.py", "other.py").replace("256", "255"));
    assert_eq!(read(&both).unwrap().source, changed());
}
