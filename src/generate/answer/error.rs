//! Why an answer gives no candidate, in words that can be sent back to the model.

use crate::generate::recipe::RecipeError;

/// Why an answer gives no candidate. Messages address the model: they are its next turn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error(
        "Your answer is empty. Answer with the whole file in one ```python fence, with edit blocks, or with a recipe."
    )]
    Empty,
    #[error(
        "Your answer has {bytes} bytes; at most {at_most} are read. Answer with edit blocks, or with the file alone."
    )]
    TooLong { bytes: usize, at_most: usize },
    #[error(
        "Your answer has no code ({excerpt:?}). If the task does not suit this kernel, change something else that makes it faster, and answer with code."
    )]
    Refusal { excerpt: String },
    #[error(
        "Your answer has neither a ```python fence, nor an edit block, nor a recipe. Use one of the three forms."
    )]
    NoCode,
    #[error(
        "Your answer is written in {language}. The file is Python with Triton kernels: answer with Python."
    )]
    OtherLanguage { language: String },
    #[error(
        "Your answer breaks off at line {line} of the code, near `{excerpt}`. Answer again, shorter: edit blocks for what changes, no explanation."
    )]
    Cut { line: u32, excerpt: String },
    #[error("The file after your answer is not valid Python: line {line}, near `{excerpt}`.")]
    NotPython { line: u32, excerpt: String },
    #[error(
        "Your answer is the source as it was: nothing changes but comments and blank lines. Make the change that the task asks for."
    )]
    Unchanged,
    #[error(
        "Your answer repeats the task's exemplar. It shows the idea on another kernel: apply the idea to {file}."
    )]
    Exemplar { file: String },
    #[error("Your answer defines {}, and nothing of {file}, which defines {}. Answer with the whole of {file}, or with edit blocks.", list(.defined), list(.wanted))]
    OtherFile { file: String, defined: Vec<String>, wanted: Vec<String> },
    #[error("Your answer changes {}{}, but only {} may change. Leave everything else as it is, and put new code into new functions.", list(.changed), at(.line), list(.allowed))]
    Forbidden { changed: Vec<String>, line: Option<u32>, allowed: Vec<String> },
    #[error(
        "Edit block {index} {reason}. Copy the lines to be found from the source exactly, enough of them to be unique."
    )]
    Edit { index: usize, reason: String },
    #[error(
        "Your answer has {count} edit blocks; at most {at_most} are read. Answer with the whole file."
    )]
    TooManyEdits { count: usize, at_most: usize },
    #[error("The recipe gives nothing: {0}.")]
    Recipe(#[from] RecipeError),
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "no function".to_owned(),
        count if count > SHOWN => format!("{} and {} more", shown.join(", "), count - SHOWN),
        _ => shown.join(", "),
    }
}

fn at(line: &Option<u32>) -> String {
    line.map(|line| format!(" (line {line})")).unwrap_or_default()
}

/// The beginning of `text` on one line, for a message.
pub(super) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 100;
    let mut words = String::new();
    for word in text.split_whitespace() {
        let room = SHOWN.saturating_sub(words.chars().count());
        if room == 0 {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().filter(|it| !it.is_control()).take(room));
    }
    words
}
