//! From a model's answer to a source, or to an error that can be sent back.
//!
//! An answer is a whole file, edit blocks, a diff or a recipe, with anything around it. What comes out
//! parses as Python and differs from its parent; whether it is allowed, compiles and is right is for the
//! gates. Nothing in an answer is ever more than a candidate: shell commands and other files are passed
//! over. The time that parsing takes is bounded by the answer's length, which is capped.

mod allowed;
mod diff;
mod edits;
mod error;
mod fences;
mod matching;
mod metric;
mod prediction;
mod refusal;
mod sameness;
mod splice;
mod toplevel;
mod whole;

use serde::{Deserialize, Serialize};

pub use error::AnswerError;
pub use metric::Metric;
pub use prediction::{Direction, Judgement, Prediction};

use crate::generate::recipe::{Context, Recipe};
use crate::kernel::syntax::Source;
use edits::EditBlock;
use fences::Document;
use whole::Found;

/// What an answer is read against.
#[derive(Clone, Copy, Debug)]
pub struct AnswerTarget<'a> {
    /// The source that edit blocks and recipes apply to: the parent's, or in a repair the candidate's
    /// that was rejected.
    pub source: &'a str,
    /// Name of the file, for answers with several.
    pub file: &'a str,
    /// Entry, symbols that may change, and what recipes rely on.
    pub context: &'a Context,
    /// The task's exemplar, which is no answer.
    pub exemplar: Option<&'a str>,
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    WholeFile,
    /// Definitions without the rest of the file.
    Parts,
    Edits,
    Diff,
    Recipe(String),
}

/// What an answer gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rewrite {
    /// Python that differs from the parent's.
    pub source: String,
    pub form: Form,
    pub prediction: Option<Prediction>,
    /// What was passed over, for the log.
    pub notes: Vec<String>,
}

/// Bytes of an answer, at most: more than any model writes, and as much as the policy gate lets a
/// source have.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Reads an answer.
///
/// # Errors
/// What the model is to do about it.
pub fn parse(text: &str, target: &AnswerTarget<'_>) -> Result<Rewrite, AnswerError> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(AnswerError::TooLong { bytes: text.len(), at_most: MAX_ANSWER_BYTES });
    }
    let text = said(text.trim_start_matches('\u{feff}')).replace("\r\n", "\n");
    let text = unwrapped(&text).unwrap_or(text);
    if text.trim().is_empty() {
        return Err(AnswerError::Empty);
    }
    let windows = target.source.contains("\r\n");
    let parent = parsed(&target.source.replace("\r\n", "\n"), false)?;
    let document = Document::read(&text);
    let mut notes = Vec::new();
    let prediction = Prediction::find(&document, &mut notes);
    let (mut source, form) = read(&text, &document, &parent, target, &mut notes)?;
    if let Some(editable) = &target.context.editable {
        source = Source::parse(allowed::settle(&parent, &source, editable)?).map_err(not_python)?;
    }
    if sameness::same(&source, &parent) {
        return Err(AnswerError::Unchanged);
    }
    let end = parent.text().get(parent.text().trim_end().len()..).unwrap_or_default();
    let begun = match form {
        Form::WholeFile => source.text().trim_start_matches('\n'),
        _ => source.text(),
    };
    let source = format!("{}{end}", begun.trim_end());
    let source = if windows { source.replace('\n', "\r\n") } else { source };
    Ok(Rewrite { source, form, prediction, notes })
}

/// An answer without the reasoning that some servers leave in front of it.
pub(in crate::generate) fn said(text: &str) -> &str {
    let ends = ["</think>", "</thinking>"].into_iter();
    let end = ends.filter_map(|tag| Some(text.rfind(tag)? + tag.len())).max();
    end.and_then(|end| text.get(end..)).filter(|rest| !rest.trim().is_empty()).unwrap_or(text)
}

/// The inside of an answer that stands in a Markdown block as a whole.
fn unwrapped(text: &str) -> Option<String> {
    let document = Document::read(text);
    let [block] = &document.blocks[..] else { return None };
    matches!(block.language.as_str(), "markdown" | "md").then(|| block.body.clone().into_owned())
}

/// The new source by the first form that gives one: edit blocks, files, diffs, recipes, and last the
/// answer itself as Python.
fn read(
    text: &str,
    document: &Document<'_>,
    parent: &Source,
    target: &AnswerTarget<'_>,
    notes: &mut Vec<String>,
) -> Result<(Source, Form), AnswerError> {
    let mut first = None;
    if edits::present(text) {
        match edits::read(text).and_then(|blocks| edited(parent, blocks, target, notes)) {
            Ok(source) => return Ok((source, Form::Edits)),
            Err(error) => first = Some(error),
        }
    }
    match whole::find(document, parent, target) {
        Ok(Some(Found::File(source))) => return Ok((source, Form::WholeFile)),
        Ok(Some(Found::Parts(source))) => return Ok((source, Form::Parts)),
        Ok(None) => {}
        Err(error) => first = first.or(Some(error)),
    }
    let is_diff = |language: &str| matches!(language, "diff" | "patch");
    let diffs: Vec<&str> =
        document.blocks.iter().filter(|it| is_diff(&it.language)).map(|it| &*it.body).collect();
    if !diffs.is_empty() && !edits::present(text) {
        let blocks = diffs.into_iter().flat_map(diff::read).collect();
        match edited(parent, blocks, target, notes) {
            Ok(source) => return Ok((source, Form::Diff)),
            Err(error) => first = first.or(Some(error)),
        }
    }
    if let Some(recipe) = recipe(document) {
        match Recipe::parse(&recipe).and_then(|it| Ok((it.apply_to(parent, target.context)?, it))) {
            Ok((source, recipe)) => {
                return Ok((parsed(&source, false)?, Form::Recipe(recipe.to_string())));
            }
            Err(error) => first = first.or(Some(error.into())),
        }
    }
    if let Some(error) = first {
        return Err(error);
    }
    bare(text, document, parent, target)?.ok_or_else(|| refusal::without_code(text, document))
}

/// `parent` after edit blocks; those of other files are passed over.
fn edited(
    parent: &Source,
    mut blocks: Vec<EditBlock>,
    target: &AnswerTarget<'_>,
    notes: &mut Vec<String>,
) -> Result<Source, AnswerError> {
    let all = blocks.len();
    blocks.retain(|it| it.file.as_ref().is_none_or(|file| edits::same_file(file, target.file)));
    if blocks.len() < all {
        notes.push(format!("{} edits of other files were passed over", all - blocks.len()));
    }
    if blocks.is_empty() {
        let reason = format!("is of another file: only {} may change", target.file);
        return Err(edits::broken(1, reason));
    }
    if blocks.len() > edits::MOST {
        return Err(AnswerError::TooManyEdits { count: blocks.len(), at_most: edits::MOST });
    }
    parsed(&matching::apply(parent.text(), &blocks)?, false)
}

/// The steps of `recipe` fences, else of the first line `recipe: …`.
fn recipe(document: &Document<'_>) -> Option<String> {
    let fenced = document.blocks.iter().find(|block| block.language == "recipe");
    // Nothing but steps, for want of a fence; steps have numbers, prose about tiles has none.
    let bare = || {
        let mut lines = document.prose.iter().map(|line| line.trim()).filter(|it| !it.is_empty());
        let only = lines.next().filter(|_| document.blocks.is_empty() && lines.next().is_none())?;
        let numbered = only.contains(|c: char| c.is_ascii_digit());
        (numbered && Recipe::parse(only).is_ok()).then(|| only.to_owned())
    };
    let line = || {
        document.prose.iter().find_map(|line| {
            let text = line.trim_start_matches([' ', '#', '*', '-', '>', '`']);
            let (label, rest) = text.split_at_checked("recipe".len())?;
            let rest = rest.trim_start_matches('*').strip_prefix(':')?;
            label
                .eq_ignore_ascii_case("recipe")
                .then(|| rest.trim_matches(['`', '*', ' ']).to_owned())
        })
    };
    let fenced = fenced.map(|block| block.body.trim().to_owned());
    fenced.or_else(line).or_else(bare).filter(|text| text.len() < 2000)
}

/// An answer without fences that is Python itself, perhaps after a few words.
fn bare(
    text: &str,
    document: &Document<'_>,
    parent: &Source,
    target: &AnswerTarget<'_>,
) -> Result<Option<(Source, Form)>, AnswerError> {
    if !document.blocks.is_empty() || !text.contains("def ") {
        return Ok(None);
    }
    let starts = |line: &str| {
        ["import ", "from ", "@triton", "def ", "\"\"\""].iter().any(|word| line.starts_with(word))
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if starts(line) {
            break;
        }
        at += line.len();
    }
    let fenced = format!("```python\n{}\n```\n", text.get(at..).unwrap_or_default());
    let found = whole::find(&Document::read(&fenced), parent, target)?;
    Ok(found.map(|found| match found {
        Found::File(source) => (source, Form::WholeFile),
        Found::Parts(source) => (source, Form::Parts),
    }))
}

/// Parses code of an answer; `open` says that its fence was not closed: it broke off, then.
fn parsed(text: &str, open: bool) -> Result<Source, AnswerError> {
    Source::parse(text).map_err(|error| match open {
        true => AnswerError::Cut { line: error.line, excerpt: error.excerpt },
        false => not_python(error),
    })
}

fn not_python(error: crate::kernel::syntax::SyntaxError) -> AnswerError {
    AnswerError::NotPython { line: error.line, excerpt: error.excerpt }
}

#[cfg(test)]
mod tests;
