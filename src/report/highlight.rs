//! Colours for Python, by its syntax tree.

use std::ops::Range;

use tree_sitter::Node;

use crate::kernel::syntax::{Source, descendants};

/// Larger texts stay uncoloured: nobody reads them in a report.
const LARGEST: usize = 1 << 20;

/// A stretch of source with the style class it is shown in (`""` for none).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// The coloured tokens of a source, to be asked line by line.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// In order, not overlapping.
    tokens: Vec<(Range<usize>, &'static str)>,
}

impl Tokens {
    /// Of `source`; of what is not Python, none.
    pub(super) fn of(source: &str) -> Self {
        if source.len() > LARGEST {
            return Self::default();
        }
        let Ok(parsed) = Source::parse(source) else { return Self::default() };
        let mut tokens: Vec<(Range<usize>, &'static str)> = Vec::new();
        for node in descendants(parsed.root()) {
            let Some(class) = class(node) else { continue };
            let span = node.byte_range();
            if tokens.last().is_none_or(|(last, _)| last.end <= span.start) {
                tokens.push((span, class));
            }
        }
        Self { tokens }
    }

    /// The bytes `range` of `source` cut into spans.
    pub(super) fn spans(&self, source: &str, range: Range<usize>) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut done = range.start;
        let mut push = |class, part: Range<usize>| {
            let text = source.get(part).unwrap_or_default();
            if !text.is_empty() {
                spans.push(Span { class, text: text.to_owned() });
            }
        };
        let first = self.tokens.partition_point(|(token, _)| token.end <= range.start);
        for (token, class) in &self.tokens[first..] {
            if token.start >= range.end {
                break;
            }
            let (start, end) = (token.start.max(range.start), token.end.min(range.end));
            push("", done..start);
            push(class, start..end);
            done = end;
        }
        push("", done..range.end);
        spans
    }
}

fn class(node: Node<'_>) -> Option<&'static str> {
    match node.kind() {
        "comment" => Some("tc"),
        "string_start" | "string_content" | "string_end" => Some("ts"),
        "integer" | "float" => Some("tn"),
        "true" | "false" | "none" => Some("tk"),
        "identifier" if names_a_function(node) => Some("tf"),
        "@" => Some("tf"),
        kind if !node.is_named() && kind.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Some("tk")
        }
        _ => None,
    }
}

/// Whether an identifier is defined or called as a function here.
fn names_a_function(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    let is = |parent: Node<'_>, field| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "function_definition" => is(parent, "name"),
        "call" => is(parent, "function"),
        "attribute" => {
            let called = parent.parent().filter(|outer| outer.kind() == "call");
            is(parent, "attribute")
                && called.is_some_and(|call| call.child_by_field_name("function") == Some(parent))
        }
        _ => false,
    }
}
