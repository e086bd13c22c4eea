//! Edit blocks: `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.

use super::AnswerError;

/// Lines to be found and lines to put in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditBlock {
    /// The file that a line before the block names.
    pub(super) file: Option<String>,
    pub(super) search: Vec<String>,
    pub(super) replace: Vec<String>,
}

/// At most so many blocks are read.
pub(super) const MOST: usize = 64;

/// Whether `text` has an edit block's first line.
pub(super) fn present(text: &str) -> bool {
    text.lines().any(opens)
}

/// The edit blocks of an answer, in order, wherever they stand. Linear in its length.
pub(super) fn read(text: &str) -> Result<Vec<EditBlock>, AnswerError> {
    let mut blocks = Vec::new();
    let mut count = 0;
    let mut file = None;
    let mut inside: Option<Vec<&str>> = None;
    for line in text.lines() {
        match &mut inside {
            None if opens(line) => inside = Some(Vec::new()),
            None => file = named_file(line).or(file),
            Some(lines) if closes(line) => {
                count += 1;
                if blocks.len() < MOST {
                    blocks.push(block(file.clone(), lines, count)?);
                }
                inside = None;
            }
            Some(_) if opens(line) => {
                return Err(broken(count + 1, "is not closed by a line `>>>>>>> REPLACE`"));
            }
            Some(lines) => lines.push(line),
        }
    }
    if inside.is_some() {
        return Err(broken(count + 1, "breaks off: there is no line `>>>>>>> REPLACE`"));
    }
    if count > MOST {
        return Err(AnswerError::TooManyEdits { count, at_most: MOST });
    }
    Ok(blocks)
}

pub(super) fn broken(index: usize, reason: impl Into<String>) -> AnswerError {
    AnswerError::Edit { index, reason: reason.into() }
}

fn block(file: Option<String>, lines: &[&str], index: usize) -> Result<EditBlock, AnswerError> {
    let dividers = || lines.iter().enumerate().filter(|(_, line)| divides(line)).map(|(at, _)| at);
    // A heading in a docstring may be underlined like a divider, but hardly with seven characters.
    let at = dividers()
        .find(|at| lines[*at].trim() == "=======")
        .or_else(|| dividers().next())
        .ok_or_else(|| broken(index, "has no line `=======` between the old and the new lines"))?;
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    Ok(EditBlock { file, search: owned(&lines[..at]), replace: owned(&lines[at + 1..]) })
}

fn opens(line: &str) -> bool {
    marked(line, '<').is_some_and(|rest| {
        ["SEARCH", "ORIGINAL", "OLD", "BEFORE", "HEAD"]
            .iter()
            .any(|word| rest.to_ascii_uppercase().starts_with(word))
    })
}

fn closes(line: &str) -> bool {
    // Whatever word follows: no line of Python begins with five of these.
    marked(line, '>').is_some()
}

fn divides(line: &str) -> bool {
    marked(line, '=') == Some("")
}

/// What follows five or more of `character` at the beginning of a line.
fn marked(line: &str, character: char) -> Option<&str> {
    let text = line.trim();
    let rest = text.trim_start_matches(character);
    (text.len() - rest.len() >= 5).then_some(rest.trim_start())
}

/// The Python file that a line consists of, but for marks around it.
pub(super) fn named_file(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().filter_map(|word| {
        let word = word.trim_matches(['`', '*', '#', ':', '"', '\'', '(', ')', ',', '+', '-']);
        (!word.is_empty()).then_some(word)
    });
    // `### File: ops/softmax.py`, but no sentence that mentions a file.
    let (first, second, third) = (words.next()?, words.next(), words.next());
    let word = second.filter(|_| first.eq_ignore_ascii_case("file")).unwrap_or(first);
    let short = third.is_none() && (second.is_none() || word != first);
    let word = word.strip_prefix("title=").unwrap_or(word).trim_matches(['"', '\'']);
    (short && word.ends_with(".py") && word.len() < 300).then(|| word.to_owned())
}

/// Whether two paths name the same file, as far as both go.
pub(super) fn same_file(one: &str, other: &str) -> bool {
    let base = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    base(one) == base(other)
}
