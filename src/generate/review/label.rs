//! Names by which reviewers call the labels.

use ReviewLabel::{InheritedGaming, MinorIssue, NoIssue, OriginalGaming, PytorchOnly, SolCeiling};

use crate::kernel::ReviewLabel;

/// Names that mean a label wherever a value begins with them, as [`plain`] leaves them.
const NAMES: [(&str, ReviewLabel); 15] = [
    ("no issue", NoIssue),
    ("no issues", NoIssue),
    ("minor issue", MinorIssue),
    ("minor issues", MinorIssue),
    ("pytorch only", PytorchOnly),
    ("only pytorch", PytorchOnly),
    ("torch only", PytorchOnly),
    ("beyond speed of light", SolCeiling),
    ("beyond the speed of light", SolCeiling),
    ("speed of light ceiling", SolCeiling),
    ("sol ceiling", SolCeiling),
    ("beyond sol", SolCeiling),
    ("inherited gaming", InheritedGaming),
    ("original gaming", OriginalGaming),
    ("new gaming", OriginalGaming),
];

/// Names that mean a label only where nothing else is said. Gaming of which nobody says whose it is
/// counts as the winner's own.
const SHORT: [(&str, ReviewLabel); 8] = [
    ("none", NoIssue),
    ("clean", NoIssue),
    ("minor", MinorIssue),
    ("speed of light", SolCeiling),
    ("sol", SolCeiling),
    ("inherited", InheritedGaming),
    ("gaming", OriginalGaming),
    ("cheating", OriginalGaming),
];

/// What ends a label in its line: `original gaming (constant output)`.
const ENDS: [char; 9] = ['(', '[', '—', '–', ':', ';', ',', '.', '/'];

/// The label that `value` names, if it begins with one and names no other.
pub(super) fn named(value: &str) -> Option<ReviewLabel> {
    let words = plain(value);
    let padded = format!(" {words} ");
    let mut all = NAMES.iter().filter(|(name, _)| padded.contains(&format!(" {name} ")));
    if let Some((_, label)) = all.next() {
        let begins = NAMES.iter().any(|(name, it)| {
            it == label
                && words.strip_prefix(name).is_some_and(|it| it.is_empty() || it.starts_with(' '))
        });
        let alone = all.all(|(_, other)| other == label);
        return (begins && alone).then_some(*label);
    }
    let head = plain(value.split(ENDS).next().unwrap_or_default());
    SHORT.iter().find(|(name, _)| *name == head).map(|(_, label)| *label)
}

/// What stands after the label in its line, without brackets.
pub(super) fn remark(value: &str) -> &str {
    let at = value.find(ENDS).unwrap_or(value.len());
    value[at..].trim_matches(|c: char| !c.is_alphanumeric())
}

/// Words in small letters with one blank between them; every other character separates.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_alphanumeric() {
            plain.extend(character.to_lowercase());
        } else if !plain.is_empty() && !plain.ends_with(' ') {
            plain.push(' ');
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}
