//! Markdown's own escaping (GitHub's dialect): candidate text is neither markup nor a mention.

use std::fmt::{self, Write};

use askama::filters::Escaper;

/// Escapes text for a paragraph or a table cell; newlines become spaces. The templates ending in
/// `.md` use it for every expression (`askama.toml`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Markdown;

impl Escaper for Markdown {
    fn write_escaped_str<W: Write>(&self, mut dest: W, string: &str) -> fmt::Result {
        for (at, next) in string.char_indices() {
            let after = &string[at..];
            match next {
                '\n' => dest.write_char(' ')?,
                '<' => dest.write_str("&lt;")?,
                '>' => dest.write_str("&gt;")?,
                '&' => dest.write_str("&amp;")?,
                // Broken up, or the person of that name would be notified.
                '@' => dest.write_str("@&#8203;")?,
                // Likewise the issue or pull request of that number: a backslash alone does not help there.
                '#' => dest.write_str("\\#&#8203;")?,
                'H' | 'h' if string[..at].ends_with(['G', 'g']) && after[1..].starts_with('-') => {
                    write!(dest, "{next}&#8203;")?;
                }
                // GitHub makes links of bare addresses.
                ':' if after.starts_with("://") => dest.write_str("&#58;")?,
                'w' | 'W' if after.get(..4).is_some_and(|www| www.eq_ignore_ascii_case("www.")) => {
                    write!(dest, "{next}&#8203;")?;
                }
                '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' | '$' => {
                    write!(dest, "\\{next}")?;
                }
                _ => dest.write_char(next)?,
            }
        }
        Ok(())
    }
}

/// Text of anybody's for a paragraph: clean, without markup, and nobody is notified by it.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    // Writing to a string does not fail.
    let _ = Markdown.write_escaped_str(&mut escaped, super::clean::text(text).trim());
    escaped
}

/// A code span for a table cell: literal whatever it holds.
pub(super) fn code(text: impl AsRef<str>) -> String {
    span(text.as_ref()).replace('|', "\\|")
}

/// A code span for a paragraph. Nothing in it can be taken for a comment that marks our own texts.
pub(super) fn span(text: &str) -> String {
    let flat = text.replace(['\n', '\t'], " ").replace("<!--", "<! --");
    if flat.trim().is_empty() {
        return "(empty)".into();
    }
    let ticks = "`".repeat(longest_run(&flat, '`') + 1);
    // Spaces keep a tick at either end apart; Markdown drops them again.
    let pad = if flat.starts_with(['`', ' ']) || flat.ends_with(['`', ' ']) { " " } else { "" };
    format!("{ticks}{pad}{flat}{pad}{ticks}")
}

/// A fence that nothing inside `block` can close.
pub(super) fn fence(block: &str) -> String {
    "`".repeat(longest_run(block, '`').max(2) + 1)
}

fn longest_run(text: &str, wanted: char) -> usize {
    text.split(|c| c != wanted).map(str::len).max().unwrap_or(0)
}
