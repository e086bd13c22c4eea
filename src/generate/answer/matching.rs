//! Finds the lines that an edit block means, and replaces them.

use std::collections::HashMap;

use super::edits::{EditBlock, broken};
use super::{AnswerError, error::excerpt};

/// `text` after the blocks, one after the other. Lines end in `\n`.
pub(super) fn apply(text: &str, blocks: &[EditBlock]) -> Result<String, AnswerError> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (at, block) in blocks.iter().enumerate() {
        if block.search != block.replace {
            replace(&mut lines, block).map_err(|reason| broken(at + 1, reason))?;
        }
    }
    Ok(lines.join("\n") + "\n")
}

fn replace(lines: &mut Vec<String>, block: &EditBlock) -> Result<(), String> {
    let search = trimmed(&block.search);
    if search.is_empty() {
        return Err("has no lines to be found".to_owned());
    }
    let exact = |line: &str| line.trim_end().to_owned();
    let tolerant = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (start, end) = match find(lines, search, exact) {
        Found::Once(start, end) => (start, end),
        Found::Often(first, second) => return Err(ambiguous(first, second)),
        Found::Never => match find(lines, search, tolerant) {
            Found::Once(start, end) => (start, end),
            Found::Often(first, second) => return Err(ambiguous(first, second)),
            Found::Never => return Err(nearest(lines, search, tolerant)),
        },
    };
    let (wanted, is) = (indentation(&search[0]), indentation(&lines[start]).to_owned());
    let shifted = |line: &String| match line.strip_prefix(wanted) {
        Some(rest) if !line.trim().is_empty() => format!("{is}{rest}"),
        _ => line.clone(),
    };
    let new: Vec<String> = trimmed(&block.replace).iter().map(shifted).collect();
    lines.splice(start..end, new);
    Ok(())
}

/// Without blank lines at the beginning and the end.
fn trimmed(lines: &[String]) -> &[String] {
    let full = |line: &String| !line.trim().is_empty();
    let Some(first) = lines.iter().position(full) else { return &[] };
    let last = lines.iter().rposition(full).unwrap_or(first);
    &lines[first..=last]
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

enum Found {
    Never,
    /// From this line to before that one.
    Once(usize, usize),
    /// First lines of the first two places.
    Often(usize, usize),
}

/// Where `search` stands in `lines`, both in the normal form `normal`, blank lines left out.
fn find(lines: &[String], search: &[String], normal: impl Fn(&str) -> String) -> Found {
    let mut ids = Ids::default();
    let (places, text) = ids.of(lines, &normal);
    let (_, wanted) = ids.of(search, &normal);
    let mut hits = text.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted);
    match (hits.next(), hits.next()) {
        (None, _) => Found::Never,
        (Some((at, _)), None) => Found::Once(places[at], places[at + wanted.len() - 1] + 1),
        (Some((first, _)), Some((second, _))) => Found::Often(places[first], places[second]),
    }
}

/// Numbers for lines, equal for lines with the same normal form: comparing them is cheap.
#[derive(Default)]
struct Ids(HashMap<String, u32>);

impl Ids {
    /// Positions and numbers of the lines that are not blank.
    fn of(&mut self, lines: &[String], normal: impl Fn(&str) -> String) -> (Vec<usize>, Vec<u32>) {
        let full = lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty());
        full.map(|(at, line)| {
            let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
            (at, *self.0.entry(normal(line)).or_insert(next))
        })
        .unzip()
    }
}

fn ambiguous(first: usize, second: usize) -> String {
    format!(
        "occurs more than once in the source, at lines {} and {} for example",
        first + 1,
        second + 1
    )
}

/// What comes closest, for the message.
fn nearest(lines: &[String], search: &[String], normal: impl Fn(&str) -> String) -> String {
    let mut ids = Ids::default();
    let (places, text) = ids.of(lines, &normal);
    let (lacking, wanted) = ids.of(search, &normal);
    let common =
        |at: usize| text[at..].iter().zip(&wanted).take_while(|(is, wanted)| is == wanted).count();
    let best = (0..text.len())
        .map(|at| (common(at), at))
        .max_by_key(|(length, at)| (*length, usize::MAX - at));
    let Some((length, at)) = best.filter(|(length, _)| *length > 0) else {
        let first = excerpt(&search[0]);
        return format!("is not in the source: there is no line `{first}`");
    };
    let asked = lacking.get(length).map_or("", |line| search[*line].as_str());
    let begins = format!("is not in the source: it begins like line {}", places[at] + 1);
    match places.get(at + length) {
        Some(line) => format!(
            "{begins}, but has `{}` where line {} has `{}`",
            excerpt(asked),
            line + 1,
            excerpt(&lines[*line])
        ),
        None => format!("{begins}, but goes on with `{}` where the source ends", excerpt(asked)),
    }
}
