//! Reading a reviewer's answer: tolerant of form, and never taken in by what is only quoted.
//!
//! An answer may repeat what it was shown, a label in a comment of the source among it. What the
//! candidate wrote stands before the code in the conversation and cannot contain it, so that a label
//! after the code is the reviewer's. Where the code is missing, labels count that stand on a line
//! `label: …` and that no line of what was asked gives in the same way.
//!
//! Of several labels the most severe counts: who is of two minds has found something.

use std::collections::HashSet;

use super::{
    Unreadable,
    label::{named, plain, remark},
};
use crate::{
    generate::{
        answer::said,
        conversation::{Conversation, Role},
        prompt::inline,
        provider::Stop,
    },
    kernel::ReviewLabel,
};

/// Bytes of an answer that are read.
pub(super) const LIMIT: usize = 256 << 10;
/// Reasons that are kept.
pub(super) const REASONS: usize = 5;
/// Characters of a reason, of a kind, and of a line that an error shows.
const REASON: usize = 300;
const KIND: usize = 60;
const SHOWN: usize = 80;

/// What an answer is read against.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    code: String,
    /// Labels that some line of what was asked gives.
    quotable: HashSet<ReviewLabel>,
}

impl Asked {
    pub(super) fn of(conversation: &Conversation, code: &str) -> Self {
        let questions = conversation.messages.iter().filter(|it| it.role == Role::User);
        let texts = questions.map(|it| it.text.as_str()).chain([conversation.system.as_str()]);
        let lines = texts.flat_map(str::lines);
        Self { code: code.to_owned(), quotable: lines.flat_map(labels_in).collect() }
    }
}

/// Labels that a line gives, wherever it might be cut.
fn labels_in(line: &str) -> Vec<ReviewLabel> {
    let small = line.to_ascii_lowercase();
    let starts = LABEL.iter().flat_map(|word| small.match_indices(word)).map(|(at, _)| at);
    let given = starts.filter_map(|at| match entry(cut(&line[at..], 2 * VALUE))? {
        (Key::Label, value) => named(value),
        _ => None,
    });
    given.chain(alone(line)).collect()
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opinion {
    pub(super) label: ReviewLabel,
    pub(super) kind: Option<String>,
    pub(super) reasons: Vec<String>,
}

/// Reads an answer; linear in its length.
pub(super) fn read(text: &str, stop: &Stop, asked: &Asked) -> Result<Opinion, Unreadable> {
    if text.len() > LIMIT {
        return Err(Unreadable::TooLong { bytes: text.len() });
    }
    let text = said(text.trim_start_matches('\u{feff}'));
    // The line at which an answer was cut may have meant to go on.
    let text = match stop {
        Stop::OutputLimit => text.rfind('\n').map_or("", |end| &text[..end]),
        _ => text,
    };
    let after_code = Reader::over(text.split_once(&*asked.code).map_or("", |(_, after)| after));
    if let Some(opinion) = after_code.most_severe(|_| true) {
        return Ok(opinion);
    }
    let reader = Reader::over(text);
    let unquoted = |label| !asked.quotable.contains(&label);
    if let Some(opinion) = reader.most_severe(unquoted) {
        return Ok(opinion);
    }
    if let Some(label) = alone(text).filter(|label| unquoted(*label)) {
        return Ok(Opinion { label, kind: None, reasons: Vec::new() });
    }
    Err(match after_code.undecided.or(reader.undecided) {
        _ if *stop == Stop::Refusal => Unreadable::Declined,
        _ if text.trim().is_empty() => Unreadable::Empty,
        Some(said) => Unreadable::Undecided { said },
        None => Unreadable::NoLabel,
    })
}

/// The label that is all of `text`.
fn alone(text: &str) -> Option<ReviewLabel> {
    let text = text.trim();
    (text.len() <= SHOWN && remark(text).is_empty()).then(|| named(text)).flatten().filter(|it| {
        // Nothing but the name: `no issue`, `**No issues.**`
        plain(text).split(' ').count() <= plain(it.as_str()).split(' ').count() + 1
    })
}

#[derive(Clone, Copy)]
enum Key {
    Label,
    Kind,
    Reason,
}

/// Words for the key of a label.
const LABEL: [&str; 2] = ["label", "verdict"];

/// Bytes of a key, `my final label` at the longest, and of the value in which a label is looked for.
const LONGEST_KEY: usize = 40;
const VALUE: usize = 200;

/// The first `bytes` of `text`, or a little less where a character would be cut.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// A line `key: value`, with any marks of lists, emphasis, quotation, JSON or tables around.
fn entry(line: &str) -> Option<(Key, &str)> {
    let text = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (key, value) = text.split_once([':', '=', '|', '：'])?;
    if key.len() > LONGEST_KEY {
        return None;
    }
    let words = plain(key);
    let key = match words.rsplit(' ').next()? {
        word if LABEL.contains(&word) => Key::Label,
        "kind" | "subcategory" => Key::Kind,
        "reason" | "reasons" => Key::Reason,
        _ => return None,
    };
    let (value, marks) = match key {
        Key::Label => (cut(value, VALUE), "*_`\"',|#<>{}[]"),
        // A reason may begin or end with a name in backticks.
        Key::Kind | Key::Reason => (value, "*\",|{}[]"),
    };
    let value = value.trim_matches(|c: char| c.is_whitespace() || marks.contains(c));
    (words.split(' ').count() <= 3).then_some((key, value))
}

/// Collects opinions line by line. Each label begins one; kinds and reasons belong to the last.
#[derive(Default)]
struct Reader {
    opinions: Vec<Opinion>,
    /// Reasons that came before any label.
    before: Vec<String>,
    /// Whether the last line belongs to a reason that may go on.
    in_reason: bool,
    /// The first value of a label that names none, or several.
    undecided: Option<String>,
}

impl Reader {
    fn over(text: &str) -> Self {
        let mut reader = Self::default();
        for line in text.lines() {
            match entry(line) {
                Some((Key::Label, value)) => reader.label(value),
                Some((Key::Kind, value)) => reader.kind(value),
                Some((Key::Reason, value)) => reader.reason(value),
                None => reader.other(line),
            }
        }
        reader
    }

    /// The opinion with the most severe label of those that count, the last one of equals.
    fn most_severe(&self, counts: impl Fn(ReviewLabel) -> bool) -> Option<Opinion> {
        let opinions = self.opinions.iter().filter(|opinion| counts(opinion.label));
        let mut opinion = opinions.max_by_key(|opinion| opinion.label)?.clone();
        opinion.reasons.extend(self.before.iter().cloned());
        opinion.reasons.retain(|reason| !reason.is_empty());
        opinion.reasons.truncate(REASONS);
        opinion.kind = opinion.kind.filter(|_| opinion.label != ReviewLabel::NoIssue);
        Some(opinion)
    }

    fn label(&mut self, value: &str) {
        self.in_reason = false;
        match named(value) {
            Some(label) => {
                let kind = kind(remark(value));
                self.opinions.push(Opinion { label, kind, reasons: Vec::new() });
            }
            None if self.undecided.is_none() => self.undecided = Some(inline(value, SHOWN)),
            None => {}
        }
    }

    fn kind(&mut self, value: &str) {
        self.in_reason = false;
        if let (Some(opinion), Some(kind)) = (self.opinions.last_mut(), kind(value)) {
            opinion.kind = Some(kind);
        }
    }

    fn reason(&mut self, value: &str) {
        self.in_reason = true;
        let reasons = self.reasons();
        // One more is room for what is empty.
        if reasons.len() <= REASONS {
            reasons.push(inline(value, REASON));
        }
    }

    /// A line that goes on with a reason, begins another one in a list, or means nothing.
    fn other(&mut self, line: &str) {
        let text = line.trim();
        self.in_reason &= !text.is_empty() && !text.starts_with(['`', '~', '}', ']']);
        if !self.in_reason {
            return;
        }
        if let Some(item) = text.strip_prefix(['-', '*', '•', '"']) {
            return self.reason(item.trim_end_matches(['"', ',']));
        }
        if let Some(last) = self.reasons().last_mut() {
            *last = inline(&format!("{last} {text}"), REASON);
        }
    }

    fn reasons(&mut self) -> &mut Vec<String> {
        match self.opinions.last_mut() {
            Some(opinion) => &mut opinion.reasons,
            None => &mut self.before,
        }
    }
}

/// A kind in a few words; nothing where they say that there is none.
fn kind(value: &str) -> Option<String> {
    let nothing = matches!(&*plain(value), "" | "none" | "n a" | "nothing" | "no");
    (!nothing).then(|| inline(value, KIND))
}
