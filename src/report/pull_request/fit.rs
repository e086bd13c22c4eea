//! A page of sections that is never too long.

use super::LONGEST;
use crate::report::{
    escape::{Markdown, span},
    format,
};
use askama::filters::Escaper;

/// How long a section is kept; the first goes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    /// What the reader was told to take from here.
    Patch,
    /// Cases, tests, what must be known.
    Core,
    Environment,
    Contract,
    Rungs,
    Profile,
    Moves,
    Review,
    MoreCases,
    Spend,
}

/// A part of a page that is there as a whole or not at all.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) priority: Priority,
    /// How it is called if it has to go, with its kernel.
    pub(super) name: String,
    /// Blocks of Markdown without blank lines at the ends.
    pub(super) text: String,
}

impl Section {
    pub(super) fn new(priority: Priority, what: &str, kernel: &str, text: &str) -> Self {
        let name = format!("{what} of {}", span(&format::shorten(kernel, 60)));
        Self { priority, name, text: text.trim_matches('\n').to_owned() }
    }

    /// Behind a click. `summary` is our own words.
    pub(super) fn folded(
        priority: Priority,
        what: &str,
        kernel: &str,
        summary: &str,
        text: &str,
    ) -> Self {
        let text = text.trim_matches('\n');
        let folded = format!("<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>");
        Self::new(priority, what, kernel, &folded)
    }
}

/// Room for the sentence that names what was left out.
const NOTE: usize = 2_500;

/// `head`, as many of `sections` as there is room for, in their order, what was left out, `foot`. The
/// important ones have the first choice; one that is too long alone does not cost the others their
/// place.
pub(super) fn page(head: &str, sections: Vec<Section>, foot: &str) -> String {
    let length = |text: &str| text.chars().count() + 2;
    let lengths: Vec<usize> = sections.iter().map(|section| length(&section.text)).collect();
    let own = length(head) + length(foot);
    let mut kept = vec![true; sections.len()];
    if own + lengths.iter().sum::<usize>() > LONGEST {
        let mut room = LONGEST.saturating_sub(own + NOTE);
        let mut choosing: Vec<usize> = (0..sections.len()).collect();
        choosing.sort_by_key(|at| sections[*at].priority);
        for at in choosing {
            kept[at] = lengths[at] <= room;
            room -= if kept[at] { lengths[at] } else { 0 };
        }
    }
    let (mut blocks, mut dropped) = (vec![head], Vec::new());
    for (section, kept) in sections.iter().zip(kept) {
        if kept { blocks.push(&section.text) } else { dropped.push(section.name.as_str()) }
    }
    let note = left_out(&dropped);
    blocks.extend([&*note, foot]);
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

/// Which sections were left out, in a sentence.
fn left_out(dropped: &[&str]) -> String {
    const NAMED: usize = 8;
    if dropped.is_empty() {
        return String::new();
    }
    let mut names = dropped.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if dropped.len() > NAMED {
        names += &format!(" and {} more sections", dropped.len() - NAMED);
    }
    format!("Left out, because a comment on GitHub must not be longer: {names}.")
}

/// Text for a paragraph, at most `length` characters of it, escaped.
pub(super) fn plain(text: &str, length: usize) -> String {
    let mut escaped = String::new();
    // Writing to a string does not fail.
    let _ = Markdown.write_escaped_str(&mut escaped, format::shorten(text.trim(), length).as_str());
    escaped
}

/// `[text](url)`, or only `text` where there is no such link. `text` is Markdown.
pub(super) fn link(text: &str, url: Option<&str>) -> String {
    url.and_then(web).map_or_else(|| text.to_owned(), |url| format!("[{text}](<{url}>)"))
}

/// `url` if it is a web address that cannot end a link early.
pub(super) fn web(url: &str) -> Option<&str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'*+,;=%".contains(c);
    let address = url.starts_with("https://") || url.starts_with("http://");
    (address && url.len() <= 500 && url.chars().all(allowed)).then_some(url)
}
