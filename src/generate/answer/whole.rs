//! Finds the file in an answer: one block that is it, or several that are parts of it.

use std::collections::HashSet;

use super::edits::{named_file, present, same_file};
use super::fences::{Block, Document};
use super::sameness::same;
use super::splice::{Terms, splice};
use super::toplevel::defined;
use super::{AnswerError, AnswerTarget, parsed, refusal};
use crate::kernel::syntax::Source;

/// Blocks that are looked at, the longest of more.
const MOST: usize = 64;

/// A block that is Python.
struct Candidate {
    source: Source,
    defined: Vec<String>,
    /// Definitions that the parent has too.
    shared: usize,
    /// It has the entry, a kernel if the parent has one, and an import: it stands for itself.
    whole: bool,
    named: bool,
    closed: bool,
}

/// What the blocks of an answer give.
pub(super) enum Found {
    /// The new file.
    File(Source),
    /// Definitions, put into the parent.
    Parts(Source),
}

/// The file that the blocks give; `None` where no block is meant as one.
///
/// # Errors
/// Blocks are meant as the file and give none.
pub(super) fn find(
    document: &Document<'_>,
    parent: &Source,
    target: &AnswerTarget<'_>,
) -> Result<Option<Found>, AnswerError> {
    let exemplar = target.exemplar.and_then(|text| Source::parse(text).ok());
    let kept: Vec<String> = defined(parent).into_iter().map(str::to_owned).collect();
    let mut broken = None;
    let (mut unchanged, mut repeated) = (false, false);
    let mut candidates = Vec::new();
    for block in longest(document) {
        let source = match parsed(&block.body, !block.closed) {
            Ok(source) => source,
            Err(error) => {
                broken = Some(error);
                continue;
            }
        };
        if same(&source, parent) {
            unchanged = true;
        } else if exemplar.as_ref().is_some_and(|exemplar| same(&source, exemplar)) {
            repeated = true;
        } else {
            candidates.extend(candidate(source, block, parent, &kept, target));
        }
    }
    // The last of equals: a model that corrects itself has the last word.
    let best = candidates
        .iter()
        .enumerate()
        .filter(|(_, it)| it.whole && (it.named || it.shared > 0))
        .max_by_key(|(at, it)| (it.named, it.shared, *at))
        .map(|(at, _)| at);
    if let Some(at) = best {
        return Ok(Some(Found::File(candidates.swap_remove(at).source)));
    }
    if let Some(cut) = broken.as_ref().filter(|error| matches!(error, AnswerError::Cut { .. })) {
        return Err(cut.clone());
    }
    if candidates.iter().any(|it| it.shared > 0 && !it.closed) {
        // A file that ends early may well be valid up to there.
        return Err(cut_short(&candidates));
    }
    if candidates.iter().any(|it| it.shared > 0) {
        return parts(parent, &candidates, target).map(|source| Some(Found::Parts(source)));
    }
    if let Some(error) = broken {
        return Err(error);
    }
    if unchanged {
        return Err(AnswerError::Unchanged);
    }
    if repeated {
        return Err(AnswerError::Exemplar { file: target.file.to_owned() });
    }
    let Some(other) = candidates.into_iter().rfind(|it| !it.defined.is_empty()) else {
        return Ok(None);
    };
    Err(AnswerError::OtherFile {
        file: target.file.to_owned(),
        defined: other.defined,
        wanted: kept,
    })
}

fn candidate(
    source: Source,
    block: &Block<'_>,
    parent: &Source,
    kept: &[String],
    target: &AnswerTarget<'_>,
) -> Option<Candidate> {
    let first = block.body.lines().next().unwrap_or("");
    let named = block.info.split_whitespace().skip(1).find_map(named_file);
    let file = named.or_else(|| named_file(first)).or_else(|| named_file(block.lead));
    if file.as_ref().is_some_and(|file| !same_file(file, target.file)) {
        return None;
    }
    let defined: Vec<String> = defined(&source).into_iter().map(str::to_owned).collect();
    let shared = kept.iter().filter(|name| defined.contains(name)).count();
    let entry = match target.context.entry.as_ref().filter(|entry| kept.contains(entry)) {
        Some(entry) => defined.contains(entry),
        // Whatever might be called from elsewhere.
        None => {
            let kernels = parent.kernels();
            let called = |name: &&String| {
                !name.starts_with('_') && !kernels.iter().any(|kernel| kernel.name() == *name)
            };
            kept.iter().filter(called).all(|name| defined.contains(name))
        }
    };
    let kernel = parent.kernels().is_empty() || !source.kernels().is_empty();
    let imports = source.text().contains("import ");
    Some(Candidate {
        whole: entry && kernel && imports,
        shared,
        named: file.is_some(),
        closed: block.closed,
        defined,
        source,
    })
}

/// Definitions from several blocks, put into the parent one after the other.
fn parts(
    parent: &Source,
    candidates: &[Candidate],
    target: &AnswerTarget<'_>,
) -> Result<Source, AnswerError> {
    let shared = candidates.iter().filter(|it| it.shared > 0);
    let used: HashSet<&str> = shared
        .flat_map(|it| it.source.text().split(|it: char| !it.is_alphanumeric() && it != '_'))
        .collect();
    let needed = |it: &Candidate| {
        it.shared > 0 || it.defined.iter().any(|name| used.contains(name.as_str()))
    };
    // One text, so that what one block defines and another uses comes before its use.
    let texts: Vec<&str> =
        candidates.iter().filter(|it| needed(it)).map(|it| it.source.text()).collect();
    let joined = parsed(&texts.join("\n\n"), false)?;
    // What may not change is judged afterwards, on the whole.
    let terms = Terms { editable: None, whole: false };
    let text = splice(parent, &joined, terms).map_err(|_| AnswerError::OtherFile {
        file: target.file.to_owned(),
        defined: candidates.iter().flat_map(|it| it.defined.clone()).collect(),
        wanted: defined(parent).into_iter().map(str::to_owned).collect(),
    })?;
    parsed(&text, false)
}

fn cut_short(candidates: &[Candidate]) -> AnswerError {
    let text = candidates.iter().rfind(|it| !it.closed).map_or("", |it| it.source.text());
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
    let line = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    AnswerError::Cut { line, excerpt: super::error::excerpt(last) }
}

/// The blocks that may be Python, in their order.
fn longest<'d, 't>(document: &'d Document<'t>) -> Vec<&'d Block<'t>> {
    let python = |block: &&Block<'_>| {
        let language = block.language.as_str();
        let other = matches!(
            language,
            "diff"
                | "patch"
                | "recipe"
                | "prediction"
                | "text"
                | "txt"
                | "sh"
                | "bash"
                | "shell"
                | "console"
                | "json"
                | "toml"
                | "yaml"
                | "markdown"
                | "md"
        );
        !other
            && !refusal::is_other_language(language)
            && ["def ", "import ", "class "].iter().any(|word| block.body.contains(word))
            && !present(&block.body)
    };
    let mut blocks: Vec<(usize, &Block<'_>)> =
        document.blocks.iter().filter(python).enumerate().collect();
    if blocks.len() > MOST {
        blocks.sort_by_key(|(_, block)| usize::MAX - block.body.len());
        blocks.truncate(MOST);
        blocks.sort_by_key(|(at, _)| *at);
    }
    blocks.into_iter().map(|(_, block)| block).collect()
}
