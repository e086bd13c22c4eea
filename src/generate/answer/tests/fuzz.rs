//! Whatever an answer is, it gives Python that differs, or an error: no panic, and an end.

use proptest::prelude::*;

use super::*;
use crate::kernel::syntax::Source;

/// Pieces that answers are made of, whole and in halves.
fn piece() -> impl Strategy<Value = String> {
    const FIXED: [&str; 38] = [
        "```python\n",
        "```\n",
        "```",
        "~~~\n",
        "````py scale.py\n",
        "```diff\n",
        "```recipe\n",
        "```prediction\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "    ",
        "<<<<<<< SEARCH\n",
        "=======\n",
        ">>>>>>> REPLACE\n",
        "scale.py\n",
        "# other.py\n",
        "@@ -1 +1 @@\n",
        "+++ b/scale.py\n",
        "-    BLOCK = 256\n",
        "+    BLOCK = 512\n",
        "    BLOCK = 256\n",
        "tile BLOCK=512\n",
        "recipe: warps 8\n",
        "prediction: duration down 3x\n",
        "import torch\n",
        "def kernel_function(x):\n",
        "@triton.jit\n",
        "def _scale_kernel(a, b):\n    pass\n",
        "LIMIT = 8\n",
        "\"\"\"",
        "(",
        "\\\n",
        "é\u{0}",
        "I cannot help.\n",
        "async def",
        "lambda: 0\n",
    ];
    prop_oneof![
        6 => proptest::sample::select(FIXED.as_slice()).prop_map(str::to_owned),
        1 => Just(SOURCE.to_owned()),
        1 => Just(changed()),
        1 => (0..SOURCE.len()).prop_map(|at| changed()[..at].to_owned()),
        1 => (0..SOURCE.len()).prop_map(|at| changed()[at..].to_owned()),
        1 => ".{0,40}",
    ]
}

fn sound(text: &str, editable: Option<Vec<String>>) -> Result<(), TestCaseError> {
    let context = context().with_editable(editable);
    let target = AnswerTarget {
        source: SOURCE,
        file: "scale.py",
        context: &context,
        exemplar: Some(EXEMPLAR),
    };
    match parse(text, &target) {
        Ok(rewrite) => {
            prop_assert!(Source::parse(rewrite.source.as_str()).is_ok(), "{}", rewrite.source);
            prop_assert_ne!(rewrite.source, SOURCE);
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(message.len() < 2000, "{} bytes", message.len());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_in_any_order(pieces in proptest::collection::vec(piece(), 0..24)) {
        sound(&pieces.concat(), None)?;
    }

    #[test]
    fn pieces_where_little_may_change(pieces in proptest::collection::vec(piece(), 0..24)) {
        sound(&pieces.concat(), Some(vec!["kernel_function".to_owned()]))?;
    }

    #[test]
    fn any_text(text in any::<String>()) {
        sound(&text, None)?;
    }

    #[test]
    fn a_file_with_a_few_bytes_changed(at in 0..SOURCE.len(), new in ".{0,6}") {
        let mut text = changed();
        text.replace_range(at..=at, &new);
        sound(&fenced(&text), None)?;
    }
}

/// A fenced file of lines that begin alike and all differ.
fn numbered(count: usize, start: &str) -> String {
    let lines: String = (0..count).map(|at| format!("{start}{at}\n")).collect();
    fenced(&format!("{lines}def helper(n):\n    return n\n"))
}

/// Repetition must not cost more than its length: each of these would take hours if it did.
#[test]
fn repetition_comes_to_an_end() {
    let many = 100_000;
    for text in [
        "```\n".repeat(many),
        "```python\n".repeat(many),
        "```python\ndef f(): pass\n```\n".repeat(many / 3),
        "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n".repeat(many / 5),
        "<<<<<<< SEARCH\nLIMIT = 7\n=======\nLIMIT = 8\n>>>>>>> REPLACE\n".repeat(many / 10),
        "<<<<<<< SEARCH\n".repeat(many / 2),
        format!("<<<<<<< SEARCH\n{}=======\nx\n>>>>>>> REPLACE\n", "LIMIT = 7\n".repeat(many)),
        format!("```python\n{}", "(".repeat(many)),
        format!("```python\ndef f(x):\n    return {}\n```", "-".repeat(many)),
        format!("```python\n{}\n```", "def f(x):\n".repeat(many / 10)),
        format!("```python\n{}\n```", "if x:\n else\n ]".repeat(many / 10)),
        format!("```python\n{}\n```", "def kernel_function(x): pass\n".repeat(many / 4)),
        numbered(20_000, "import a"),
        fenced("def helper(n):\n    n = 1\n")
            + &fenced(&numbered(20_000, "LIMIT = b"))
            + &fenced(&format!(
                "@triton.jit\ndef _scale_kernel(n):\n    return {}1\n",
                "c + ".repeat(many)
            )),
        "`".repeat(1 << 20),
        "prediction: duration up\n".repeat(many / 3),
        "recipe:".repeat(many),
        "def ".repeat(many),
        "\n".repeat(1 << 20),
    ] {
        let start: String = text.chars().take(40).collect();
        sound(&text, None).unwrap_or_else(|error| panic!("{start:?}: {error}"));
        sound(&text, Some(vec!["kernel_function".to_owned()])).unwrap();
    }
}
