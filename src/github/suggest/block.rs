//! The Markdown of a suggestion: a fenced block that is taken literally, line by line.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

const INFO: &str = "suggestion";

/// A block with the lines of `text`; an empty one for no lines.
pub(super) fn write(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{INFO}\n{text}{fence}")
}

/// What the only suggestion in `body` replaces its lines with, as a Markdown parser reads it; `None`
/// where there is none or more than one.
pub(super) fn read(body: &str) -> Option<String> {
    let mut found = None;
    let mut open = None::<String>;
    for event in Parser::new(body) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == INFO => {
                open = Some(String::new());
            }
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some(block) = open.take()
                    && found.replace(block).is_some()
                {
                    return None;
                }
            }
            _ => {}
        }
    }
    found
}

/// The first character that a comment may lose or change on its way: control characters, a byte
/// order mark, and what some readers take for the end of a line.
pub(super) fn hidden(text: &str) -> Option<char> {
    text.chars().find(|c| {
        let control = c.is_control() && !matches!(c, '\n' | '\t');
        control || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')
    })
}
