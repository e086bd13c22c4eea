//! The diff of one file of a pull request, as far as comments can stand on it.

use std::ops::Range;

use super::{NoSuggestion, lines, number};

/// Hunks of one file of a pull request. None, where GitHub shows no diff of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    hunks: Vec<Hunk>,
}

/// A hunk's right side: added lines and context, all of which take comments.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    /// Lines of the head, from 0.
    range: Range<usize>,
    /// Those lines without their newlines.
    lines: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    #[error("line {line} of the diff should begin a hunk (`@@ -1,2 +1,2 @@`)")]
    Header { line: usize },
    #[error("line {line} of the diff is neither context nor added nor removed")]
    Line { line: usize },
    #[error("the diff ends inside a hunk")]
    Short,
    #[error("hunks of the diff overlap or are out of order at line {line}")]
    Order { line: usize },
}

impl FileDiff {
    /// Reads the `patch` of `GET pulls/N/files`: hunks without file headers.
    pub fn parse(patch: &str) -> Result<Self, DiffError> {
        let mut rest = Numbered::of(patch);
        let mut diff = Self::default();
        while let Some((line, header)) = rest.next() {
            if header.is_empty() && rest.is_done() {
                break;
            }
            let hunk = Hunk::read(line, header, &mut rest)?;
            diff.push(hunk, line)?;
        }
        Ok(diff)
    }

    /// Reads a whole unified diff (`GET pulls/N` as `application/vnd.github.diff`, `git diff`): each
    /// file that is there afterwards by its path. Files of which nothing is shown (binary, renamed,
    /// new mode) are left out.
    pub fn parse_all(diff: &str) -> Result<Vec<(String, Self)>, DiffError> {
        let mut rest = Numbered::of(diff);
        let mut files: Vec<(String, Self)> = Vec::new();
        // `None` before the first file, and in a file that was removed.
        let mut inside = None;
        while let Some((line, text)) = rest.next() {
            if text.starts_with("diff --git ") {
                inside = None;
            } else if let Some(path) = text.strip_prefix("+++ ") {
                inside = new_path(path);
                files.extend(inside.clone().map(|path| (path, Self::default())));
            } else if text.starts_with("@@ ") {
                let hunk = Hunk::read(line, text, &mut rest)?;
                if let (Some(_), Some((_, file))) = (&inside, files.last_mut()) {
                    file.push(hunk, line)?;
                }
            }
        }
        Ok(files)
    }

    /// The hunk that has all of `lines` (from 0, at least one) on its right side.
    pub(super) fn hunk_of(&self, lines: &Range<usize>) -> Option<usize> {
        let holds = |hunk: &Hunk| hunk.range.start <= lines.start && lines.end <= hunk.range.end;
        (!lines.is_empty()).then(|| self.hunks.iter().position(holds)).flatten()
    }

    /// Whether the diff shows something, and nothing that `head` does not have there.
    pub(super) fn belongs_to(&self, head: &str) -> Result<(), NoSuggestion> {
        let head = lines(head);
        if self.hunks.is_empty() {
            return Err(NoSuggestion::NoDiff);
        }
        for hunk in &self.hunks {
            for (at, shown) in hunk.range.clone().zip(&hunk.lines) {
                let there = head.get(at).map(|line| line.strip_suffix('\n').unwrap_or(line));
                if there != Some(shown) {
                    return Err(NoSuggestion::OtherCommit { line: number(at) });
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, hunk: Hunk, line: usize) -> Result<(), DiffError> {
        if self.hunks.last().is_some_and(|last| last.range.end > hunk.range.start) {
            return Err(DiffError::Order { line });
        }
        self.hunks.push(hunk);
        Ok(())
    }
}

impl Hunk {
    /// The hunk that begins with `header`; its counts say where it ends, whatever its lines look like.
    fn read(at: usize, header: &str, rest: &mut Numbered<'_>) -> Result<Self, DiffError> {
        let (mut old, new) = ranges(header).ok_or(DiffError::Header { line: at })?;
        let mut shown = Vec::new();
        while old.len() + new.len() > shown.len() {
            let (line, text) = rest.next().ok_or(DiffError::Short)?;
            let (takes_old, right) = match text.as_bytes().first() {
                Some(b'+') => (0, Some(&text[1..])),
                Some(b'-') => (1, None),
                Some(b' ') => (1, Some(&text[1..])),
                // Some tools cut the space at the end of an empty line of context.
                None => (1, Some("")),
                Some(b'\\') => continue,
                Some(_) => return Err(DiffError::Line { line }),
            };
            if takes_old > old.len() || (right.is_some() && shown.len() == new.len()) {
                return Err(DiffError::Line { line });
            }
            old.start += takes_old;
            shown.extend(right.map(str::to_owned));
        }
        if rest.peek().is_some_and(|text| text.starts_with('\\')) {
            rest.next();
        }
        Ok(Self { range: new, lines: shown })
    }
}

/// Both ranges of `@@ -a,b +c,d @@ …`, from 0.
fn ranges(header: &str) -> Option<(Range<usize>, Range<usize>)> {
    let (old, rest) = header.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    Some((range(old)?, range(new)?))
}

/// `7,3` or `7`; an empty range is named by the line before it.
fn range(text: &str) -> Option<Range<usize>> {
    let (start, length) = match text.split_once(',') {
        Some((start, length)) => (start.parse::<usize>().ok()?, length.parse::<usize>().ok()?),
        None => (text.parse().ok()?, 1),
    };
    let first = if length == 0 { start } else { start.checked_sub(1)? };
    Some(first..first.checked_add(length)?)
}

/// The path in `+++ b/path`, in C quotes where git needs them; `None` for a file that is gone.
fn new_path(text: &str) -> Option<String> {
    let text = text.strip_suffix('\t').unwrap_or(text);
    let path = match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(quoted) => unquoted(quoted)?,
        None => text.to_owned(),
    };
    path.strip_prefix("b/").map(str::to_owned)
}

fn unquoted(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(next) = rest.next() {
        if next != b'\\' {
            bytes.push(next);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'v' => 11,
            b'f' => 12,
            first @ b'0'..=b'3' => {
                let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| byte - b'0');
                let (second, third) = (digit(rest.next()?)?, digit(rest.next()?)?);
                (first - b'0') * 64 + second * 8 + third
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Lines without their newlines, numbered from 1.
struct Numbered<'t> {
    lines: Vec<&'t str>,
    at: usize,
}

impl<'t> Numbered<'t> {
    fn of(text: &'t str) -> Self {
        let stripped = text.strip_suffix('\n').unwrap_or(text);
        let lines = if text.is_empty() { Vec::new() } else { stripped.split('\n').collect() };
        Self { lines, at: 0 }
    }

    fn next(&mut self) -> Option<(usize, &'t str)> {
        let line = *self.lines.get(self.at)?;
        self.at += 1;
        Some((self.at, line))
    }

    fn peek(&self) -> Option<&'t str> {
        self.lines.get(self.at).copied()
    }

    fn is_done(&self) -> bool {
        self.at == self.lines.len()
    }
}
