//! Answers as models give them.

mod allowed;
mod edits;
mod fuzz;
mod hostile;
mod predictions;
mod whole;

use super::*;
use crate::generate::recipe::DeviceKind;

pub(super) const SOURCE: &str = include_str!("../fixtures/scale.py");

pub(super) fn context() -> Context {
    let mut context = Context::new(DeviceKind::Cuda);
    context.entry = Some("kernel_function".to_owned());
    context
}

pub(super) fn read(text: &str) -> Result<Rewrite, AnswerError> {
    let context = context();
    parse(
        text,
        &AnswerTarget {
            source: SOURCE,
            file: "scale.py",
            context: &context,
            exemplar: Some(EXEMPLAR),
        },
    )
}

pub(super) fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

/// `SOURCE` with another block size.
pub(super) fn changed() -> String {
    SOURCE.replace("BLOCK = 256", "BLOCK = 1024")
}

pub(super) fn fenced(text: &str) -> String {
    format!("```python\n{text}```\n")
}

pub(super) const EXEMPLAR: &str = "import triton\n\n\n@triton.jit\ndef _shown(x):\n    pass\n\n\ndef kernel_function(x):\n    _shown[(1,)](x)\n";
