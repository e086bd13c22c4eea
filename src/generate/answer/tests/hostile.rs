//! Answers that are none.

use super::*;

#[test]
fn nothing_is_no_answer() {
    for empty in ["", " \n\r\n\t", "\u{feff}"] {
        assert!(refusal(empty).starts_with("Your answer is empty"));
    }
}

#[test]
fn ten_megabytes_are_not_read() {
    let error = refusal(&"x = 1\n".repeat((10 << 20) / 6));
    assert!(error.contains("at most 1048576 are read"), "{error}");
}

#[test]
fn a_refusal_is_answered_with_the_way_on() {
    let error = refusal("I’m sorry, but I can't help\nwith that.");
    assert!(error.contains("has no code (\"I’m sorry, but I can't help with that.\")"), "{error}");
    assert!(error.contains("change something else"));
    // Words of regret beside an answer do not matter.
    let answer = format!("I'm sorry, I cannot measure this here.\n{}", fenced(&changed()));
    assert!(read(&answer).is_ok());
}

#[test]
fn prose_shell_and_data_are_no_code() {
    for answer in [
        "Use larger blocks.",
        "```bash\nrm -rf ~\n```",
        "```json\n{\"def \": 1}\n```",
        "```\nok\n```",
    ] {
        assert_eq!(read(answer), Err(AnswerError::NoCode), "{answer}");
    }
    let answer = format!("```bash\npip install def import\n```\n{}", fenced(&changed()));
    assert_eq!(read(&answer).unwrap().source, changed());
}

#[test]
fn other_languages_are_named() {
    let cuda = "__global__ void scale(float* x) { x[threadIdx.x] *= 2; }\n";
    assert!(refusal(&format!("```cuda\n{cuda}```")).contains("written in cuda"));
    assert!(refusal(cuda).contains("written in CUDA C++"));
    assert!(refusal("```rust\nfn main() {}\n```").contains("written in rust"));
}

#[test]
fn the_source_itself_is_no_answer() {
    assert_eq!(read(&fenced(SOURCE)), Err(AnswerError::Unchanged));
    let commented = SOURCE.replace("    BLOCK = 256", "    # A block.\n\n    BLOCK =  256");
    assert_eq!(read(&fenced(&commented)), Err(AnswerError::Unchanged));
    let nothing = "<<<<<<< SEARCH\nLIMIT = 7\n=======\nLIMIT = 7\n>>>>>>> REPLACE";
    assert_eq!(read(nothing), Err(AnswerError::Unchanged));
}

#[test]
fn indentation_that_changes_the_program_is_a_change() {
    let source = "import triton\n\n\n@triton.jit\ndef k(x):\n    if x:\n        a(x)\n    b(x)\n";
    let moved = source.replace("    b(x)", "        b(x)");
    let context = Context::new(DeviceKind::Cuda);
    let target = AnswerTarget { source, file: "k.py", context: &context, exemplar: None };
    assert_eq!(parse(&fenced(&moved), &target).unwrap().source, moved);
}

#[test]
fn the_prompt_repeated_is_no_answer() {
    let prompt = format!("# Source\n\n{}\n# Task\n\n{}", fenced(SOURCE), fenced(EXEMPLAR));
    assert_eq!(read(&prompt), Err(AnswerError::Unchanged));
    assert!(refusal(&fenced(EXEMPLAR)).contains("repeats the task's exemplar"));
    let and_an_answer = format!("{prompt}\n{}", fenced(&changed()));
    assert_eq!(read(&and_an_answer).unwrap().source, changed());
}

#[test]
fn another_file_is_told_from_the_target() {
    let other = "import torch\n\n\ndef main():\n    pass\n";
    let error = refusal(&fenced(other));
    assert!(
        error.contains("defines `main`, and nothing of scale.py, which defines `_scale_kernel`"),
        "{error}"
    );
}

#[test]
fn broken_python_is_named_with_its_line() {
    let broken = changed().replace("return y", "return y +");
    let error = refusal(&fenced(&broken));
    assert!(error.contains("line 28, near `return y +`"), "{error}");
}

#[test]
fn strange_characters_do_no_harm() {
    for text in
        ["\0", "```python\n\0\n```", "```python\ndef é(): pass\n```", "\u{202e}```\u{2028}def "]
    {
        assert!(read(text).is_err(), "{text:?}");
    }
    let lost = changed().replace("One program", "One \u{fffd} program");
    assert!(read(&fenced(&lost)).is_ok());
}
