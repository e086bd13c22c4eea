//! The lines of a comment that a person wrote as prose: not what is quoted, code, or a link's text.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Longest comment that is looked at, in bytes: GitHub allows as many characters.
const LONGEST: usize = 4 * 65_536;

/// The prose of a Markdown text, line by line.
pub(super) fn lines(markdown: &str) -> Vec<String> {
    let mut prose = String::new();
    // How many elements around the text at hand are none of the person's own words.
    let mut foreign = 0_u32;
    for event in Parser::new_ext(cut(markdown), Options::ENABLE_GFM) {
        match event {
            Event::Start(tag) if is_foreign(&tag) => foreign += 1,
            Event::End(tag) if ends_foreign(tag) => foreign = foreign.saturating_sub(1),
            Event::Text(text) if foreign == 0 => prose.push_str(&text),
            // A command with code in it is not a command: the code's place is marked.
            Event::Code(_) | Event::InlineHtml(_) if foreign == 0 => prose.push('\u{fffc}'),
            Event::SoftBreak | Event::HardBreak | Event::End(_) | Event::Start(Tag::Item) => {
                prose.push('\n');
            }
            _ => {}
        }
    }
    prose.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn is_foreign(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::BlockQuote(_)
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::Link { .. }
            | Tag::Image { .. }
            | Tag::Heading { .. }
            | Tag::Strikethrough
    )
}

fn ends_foreign(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::BlockQuote(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::Heading(_)
            | TagEnd::Strikethrough
    )
}
