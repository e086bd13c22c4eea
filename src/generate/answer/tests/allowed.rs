//! Targets of which only some symbols may change.

use super::*;

fn read_for(editable: &[&str], text: &str) -> Result<Rewrite, AnswerError> {
    let editable = editable.iter().map(|name| (*name).to_owned()).collect();
    let context = context().with_editable(Some(editable));
    parse(
        text,
        &AnswerTarget { source: SOURCE, file: "scale.py", context: &context, exemplar: None },
    )
}

#[test]
fn a_file_that_keeps_what_may_not_change_is_taken_as_it_is() {
    assert_eq!(read_for(&["kernel_function"], &fenced(&changed())).unwrap().source, changed());
}

#[test]
fn what_may_not_change_and_was_left_out_or_retyped_is_put_back() {
    let retyped = changed()
        .replace("\"\"\"Scale every element.\"\"\"\n", "")
        .replace("    # One program a block.\n", "")
        .replace("LIMIT = 7\n\n\n", "")
        .replace("def helper(n):\n    return min(n, LIMIT)\n\n\n", "");
    assert_eq!(read_for(&["kernel_function"], &fenced(&retyped)).unwrap().source, changed());
}

#[test]
fn new_functions_and_imports_are_welcome() {
    let with_more = changed()
        .replace("import torch\n", "import math\nimport torch\n")
        .replace(
            "def kernel_function",
            "def _size():\n    return math.inf\n\n\ndef kernel_function",
        )
        .replace("LIMIT = 7\n\n\n", "");
    let source = read_for(&["kernel_function"], &fenced(&with_more)).unwrap().source;
    let expected = changed()
        .replace("import triton.language as tl\n", "import triton.language as tl\nimport math\n")
        .replace(
            "def kernel_function",
            "def _size():\n    return math.inf\n\n\ndef kernel_function",
        );
    assert_eq!(source, expected);
}

#[test]
fn a_real_change_of_what_may_not_change_is_an_error() {
    let forbidden = changed().replace("LIMIT = 7", "LIMIT = 8").replace("min(n, LIMIT)", "LIMIT");
    let error = read_for(&["kernel_function"], &fenced(&forbidden)).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "Your answer changes `LIMIT`, `helper` (line 16), but only `kernel_function` may change"
        ),
        "{error}"
    );
    let edit = "<<<<<<< SEARCH\nLIMIT = 7\n=======\nLIMIT = 8\n>>>>>>> REPLACE";
    assert!(
        read_for(&["kernel_function"], edit).unwrap_err().to_string().contains("changes `LIMIT`")
    );
}

#[test]
fn a_definition_that_is_not_needed_any_more_goes() {
    let without = changed().replace("def helper(n):\n    return min(n, LIMIT)\n\n\n", "");
    let retyped = without.replace("    # One program a block.\n", "");
    let rewrite = read_for(&["kernel_function", "helper"], &fenced(&retyped)).unwrap();
    assert_eq!(rewrite.source, without);
}

#[test]
fn statements_outside_of_definitions_stay() {
    let with_more = changed() + "\n\nif LIMIT:\n    print(LIMIT)\n";
    assert_eq!(read_for(&["kernel_function"], &fenced(&with_more)).unwrap().source, changed());
}
