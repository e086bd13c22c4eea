//! Fenced blocks of an answer, and the prose between them.

use std::borrow::Cow;

/// A fenced block, or what stands between two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block<'t> {
    /// First word after the opening fence, in small letters: `python`, `diff`; empty where there is
    /// none.
    pub(super) language: String,
    /// All words after the opening fence.
    pub(super) info: &'t str,
    /// The last line with text before the block, where models put a file's name.
    pub(super) lead: &'t str,
    /// Without the indentation of the opening fence.
    pub(super) body: Cow<'t, str>,
    /// Whether a closing fence was found.
    pub(super) closed: bool,
}

/// An answer taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Document<'t> {
    pub(super) blocks: Vec<Block<'t>>,
    /// Lines outside of blocks.
    pub(super) prose: Vec<&'t str>,
}

/// The marker of a fence: its character and length.
#[derive(Clone, Copy)]
struct Marker {
    character: char,
    length: usize,
    /// Blanks before it.
    indent: usize,
}

impl<'t> Document<'t> {
    /// Takes `text` apart as CommonMark does (section 4.5), with one addition: a fence with a language
    /// that begins within an open block, in the first column, ends that block. Models forget to close
    /// a block more often than they nest one. Linear in the length of `text`.
    pub(super) fn read(text: &'t str) -> Self {
        let mut document = Self::default();
        let mut open: Option<(Marker, &'t str, &'t str, usize)> = None;
        let mut lead = "";
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let line = line.trim_end_matches(['\n', '\r']);
            match (open, fence(line)) {
                (None, Some((marker, info))) => open = Some((marker, info, lead, at)),
                (None, None) => {
                    document.prose.push(line);
                    if !line.trim().is_empty() {
                        lead = line;
                    }
                }
                (Some((marker, info, before, from)), Some((inner, words)))
                    if inner.character == marker.character && inner.length >= marker.length =>
                {
                    if words.is_empty() {
                        document.push(marker, info, before, &text[from..start], true);
                        (open, lead) = (None, "");
                    } else if line.starts_with(inner.character) && inner.length == marker.length {
                        document.push(marker, info, before, &text[from..start], false);
                        open = Some((inner, words, "", at));
                    }
                }
                (Some(_), _) => {}
            }
        }
        if let Some((marker, info, before, from)) = open {
            document.push(marker, info, before, &text[from..], false);
        }
        document
    }

    fn push(&mut self, marker: Marker, info: &'t str, lead: &'t str, body: &'t str, closed: bool) {
        let first = info.split([' ', '\t', ',', '{', ':']).next().unwrap_or("");
        let language = first.to_ascii_lowercase();
        let body = match marker.indent {
            0 => Cow::Borrowed(body),
            indent => Cow::Owned(outdented(body, indent)),
        };
        self.blocks.push(Block { language, info, lead, body, closed });
    }
}

/// `text` with at most `indent` blanks less before each line.
fn outdented(text: &str, indent: usize) -> String {
    let shorter = |line: &str| {
        let blanks = line.bytes().take(indent).take_while(|byte| *byte == b' ').count();
        line[blanks..].to_owned()
    };
    text.split_inclusive('\n').map(shorter).collect()
}

/// The marker of a fence line and what stands after it.
fn fence(line: &str) -> Option<(Marker, &str)> {
    let text = line.trim_start();
    let character = text.chars().next().filter(|it| matches!(it, '`' | '~'))?;
    let rest = text.trim_start_matches(character);
    let length = text.len() - rest.len();
    let info = rest.trim();
    let plain = length >= 3 && !(character == '`' && info.contains('`'));
    plain.then_some((Marker { character, length, indent: line.len() - text.len() }, info))
}
