//! Whole files, and parts of them.

use super::*;

#[test]
fn a_whole_file_between_explanations_is_taken() {
    let answer =
        format!("Larger blocks help.\n\n{}\nThis halves the launches.", fenced(&changed()));
    let rewrite = read(&answer).unwrap();
    assert_eq!((rewrite.source, rewrite.form), (changed(), Form::WholeFile));
}

#[test]
fn the_fence_may_have_any_name_or_none() {
    for fence in
        ["```", "```py", "``` python", "~~~python", "````triton", "```Python3 title=\"scale.py\""]
    {
        let close: String = fence.chars().take_while(|it| matches!(it, '`' | '~')).collect();
        let rewrite = read(&format!("{fence}\n{}{close}", changed())).unwrap();
        assert_eq!(rewrite.source, changed(), "{fence}");
    }
}

#[test]
fn an_answer_without_fences_may_be_the_file_itself() {
    assert_eq!(read(&changed()).unwrap().source, changed());
    let after_words = format!("Here it is, all of the file.\n\n{}", &changed()[27..]);
    assert!(read(&after_words).unwrap().source.starts_with("import torch"));
}

#[test]
fn the_last_fence_may_be_open_if_the_file_is_complete() {
    let rewrite = read(&format!("```python\n{}", changed())).unwrap();
    assert_eq!(rewrite.source, changed());
}

#[test]
fn a_file_that_breaks_off_is_told_so() {
    let half = &changed()[..changed().find("mask=inside)").unwrap()];
    assert!(refusal(&format!("```python\n{half}")).contains("breaks off at line"));
    // Up to here it is valid Python, but the entry is missing.
    let valid = &changed()[..changed().find("LIMIT").unwrap()].replace("* factor", "* factor * 1");
    assert!(refusal(&format!("```python\n{valid}")).contains("breaks off at line"));
}

#[test]
fn of_several_files_the_targets_is_taken() {
    let test = "import scale\n\n\ndef kernel_function(x):\n    return x\n\n\n@triton.jit\ndef k():\n    pass\n";
    let answer = format!("`scale.py`:\n{}\n`test_scale.py`:\n{}", fenced(&changed()), fenced(test));
    assert_eq!(read(&answer).unwrap().source, changed());
    let answer =
        format!("# test.py\n{}\n### File: `ops/scale.py`\n{}", fenced(test), fenced(&changed()));
    assert_eq!(read(&answer).unwrap().source, changed());
    let inside =
        format!("```python\n# test_scale.py\n{test}```\n```python\n# scale.py\n{}```", changed());
    assert!(read(&inside).unwrap().source.ends_with(&changed()));
}

#[test]
fn a_second_thought_wins_over_the_first() {
    let later = SOURCE.replace("BLOCK = 256", "BLOCK = 2048");
    let answer = format!("{}Wait, better:\n{}", fenced(&changed()), fenced(&later));
    assert_eq!(read(&answer).unwrap().source, later);
}

#[test]
fn an_answer_may_be_wrapped_in_markdown() {
    let answer = format!("````markdown\nLarger blocks.\n\n{}````\n", fenced(&changed()));
    assert_eq!(read(&answer).unwrap().source, changed());
}

#[test]
fn a_fence_in_a_list_is_indented_with_its_text() {
    let indented: String = changed().lines().map(|line| format!("   {line}\n")).collect();
    let answer = format!("1. The file:\n\n   ```python\n{indented}   ```\n");
    assert_eq!(read(&answer).unwrap().source, changed());
}

#[test]
fn kernels_may_be_renamed_and_the_entry_may_be_a_class_or_unknown() {
    let renamed = changed().replace("_scale_kernel", "_fast_kernel");
    let class = |text: &str| {
        text.replace(
            "def kernel_function(x):",
            "class ModelNew:\n    def __init__(self, x):\n        pass\n\n\ndef _run(x):",
        )
    };
    for (source, answer, entry) in [
        (SOURCE.to_owned(), renamed.clone(), None),
        (SOURCE.to_owned(), renamed.clone(), Some("kernel_function")),
        (class(SOURCE), class(&renamed), Some("ModelNew")),
    ] {
        let mut context = context();
        context.entry = entry.map(str::to_owned);
        let target =
            AnswerTarget { source: &source, file: "scale.py", context: &context, exemplar: None };
        let rewrite = parse(&fenced(&answer), &target).unwrap();
        assert_eq!((rewrite.source, rewrite.form), (answer, Form::WholeFile));
    }
}

#[test]
fn reasoning_before_the_answer_is_not_part_of_it() {
    let edit = "<<<<<<< SEARCH\n    BLOCK = 256\n=======\n    BLOCK = 1024\n>>>>>>> REPLACE\n";
    let answer = format!("<think>\nPerhaps\n{edit}or not.\n</think>\n{edit}");
    assert_eq!(read(&answer).unwrap().source, changed());
    let nothing_else =
        format!("<think>{}</think>", fenced(&changed()).replace("```python", "\n```python"));
    assert_eq!(read(&nothing_else).unwrap().source, changed());
}

#[test]
fn the_file_ends_as_it_ended() {
    let context = context();
    for end in ["", "\n\n"] {
        let source = SOURCE.trim_end().to_owned() + end;
        let target =
            AnswerTarget { source: &source, file: "scale.py", context: &context, exemplar: None };
        let rewrite = parse(&fenced(&format!("\n{}\n\n\n", changed())), &target).unwrap();
        assert_eq!(rewrite.source, changed().trim_end().to_owned() + end);
    }
}

#[test]
fn a_block_that_was_not_closed_ends_where_the_next_begins() {
    let answer = format!("```python\nx = (\n\n```python\n{}```", changed());
    assert_eq!(read(&answer).unwrap().source, changed());
}

#[test]
fn a_kernel_alone_replaces_its_namesake() {
    let kernel = "import triton.language.extra as extra\n\n\n@triton.jit\ndef _scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):\n    _inner(x_ptr)\n";
    let helper = "@triton.jit\ndef _inner(x_ptr):\n    pass\n";
    for answer in [
        fenced(&format!("{kernel}\n\n{helper}")),
        format!("{}\nand its helper\n{}", fenced(kernel), fenced(helper)),
    ] {
        let rewrite = read(&answer).unwrap();
        assert_eq!(rewrite.form, Form::Parts);
        let before = SOURCE.find("@triton.jit").unwrap();
        let after = SOURCE.find("LIMIT").unwrap();
        let expected = format!(
            "{}\nimport triton.language.extra as extra\n\n\n{}\n\n\n{}\n\n\n{}",
            SOURCE[..before].trim_end(),
            kernel[kernel.find('@').unwrap()..].trim_end(),
            helper.trim_end(),
            &SOURCE[after..]
        );
        assert_eq!(rewrite.source, expected);
    }
}

#[test]
fn windows_line_ends_are_kept_where_the_source_has_them() {
    let source = SOURCE.replace('\n', "\r\n");
    let context = context();
    let target =
        AnswerTarget { source: &source, file: "scale.py", context: &context, exemplar: None };
    let rewrite = parse(&fenced(&changed()), &target).unwrap();
    assert_eq!(rewrite.source, changed().replace('\n', "\r\n"));
    let rewrite = parse(&fenced(&changed()).replace('\n', "\r\n"), &target).unwrap();
    assert_eq!(rewrite.source, changed().replace('\n', "\r\n"));
    assert_eq!(read(&fenced(&changed()).replace('\n', "\r\n")).unwrap().source, changed());
}

#[test]
fn a_recipe_is_applied() {
    for answer in [
        "```recipe\ntile BLOCK=1024\n```",
        "I would do this:\n\n**Recipe:** `tile BLOCK=1024`",
        "tile BLOCK=1024\n",
    ] {
        let rewrite = read(answer).unwrap();
        assert_eq!(rewrite.source, changed());
        assert_eq!(rewrite.form, Form::Recipe("tile BLOCK=1024".to_owned()));
    }
    let error = refusal("```recipe\ntyle BLOCK=1024\n```");
    assert!(error.contains("did you mean `tile`?"), "{error}");
    assert!(refusal("```recipe\nrm -rf /\n```").contains("there is no verb `rm`"));
    assert!(!refusal("tile it with larger blocks").contains("recipe gives"));
}
