//! Answers without code: which kind they are.

use super::fences::Document;
use super::{AnswerError, error::excerpt};

/// Words with which models decline. They count only where there is no code at all.
const DECLINING: [&str; 10] = [
    "i can't",
    "i cannot",
    "i can not",
    "i'm sorry",
    "i am sorry",
    "i'm unable",
    "i am unable",
    "i won't",
    "unable to help",
    "as an ai",
];

/// Languages that models answer with when they leave Triton.
const OTHERS: [&str; 14] = [
    "c",
    "c++",
    "cc",
    "cpp",
    "cu",
    "cuda",
    "hip",
    "opencl",
    "ptx",
    "rust",
    "julia",
    "mojo",
    "java",
    "javascript",
];

pub(super) fn is_other_language(language: &str) -> bool {
    OTHERS.contains(&language)
}

/// Why `document` gives nothing.
pub(super) fn without_code(text: &str, document: &Document<'_>) -> AnswerError {
    if let Some(block) = document.blocks.iter().find(|block| is_other_language(&block.language)) {
        return AnswerError::OtherLanguage { language: block.language.clone() };
    }
    if text.contains("__global__") || text.contains("#include") {
        return AnswerError::OtherLanguage { language: "CUDA C++".to_owned() };
    }
    let beginning: String = text.chars().take(2000).collect::<String>().to_lowercase();
    let beginning = beginning.replace('’', "'");
    if DECLINING.iter().any(|words| beginning.contains(words)) {
        return AnswerError::Refusal { excerpt: excerpt(text) };
    }
    AnswerError::NoCode
}
