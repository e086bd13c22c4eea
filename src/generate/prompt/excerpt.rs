//! The shortest useful part of a long text.

use std::fmt::Write;

/// Lines shown before and after the one that is meant.
const AROUND: usize = 3;
/// Characters of a line.
const WIDTH: usize = 160;

/// The lines around `line` (from 1) of `source`, numbered, the line itself marked.
pub(super) fn around(source: &str, line: u32) -> Option<String> {
    let at = usize::try_from(line).ok()?.checked_sub(1)?;
    let first = at.saturating_sub(AROUND);
    let mut text = String::new();
    let mut found = false;
    for (index, content) in source.lines().enumerate().skip(first).take(at + AROUND + 1 - first) {
        found |= index == at;
        let mark = if index == at { '>' } else { ' ' };
        let short: String = content.chars().take(WIDTH).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{mark}{:>4} | {short}", index + 1);
    }
    found.then_some(text)
}

/// Bytes of a reason that are shown.
const REASON: usize = 1800;

/// The beginning of `text`, which says what failed, and more of its end, which says why.
pub(super) fn ends(text: &str) -> String {
    shortened(text.trim(), REASON / 3, REASON - REASON / 3)
}

/// At most so many bytes of `text` from both ends.
pub(in crate::generate) fn shortened(text: &str, head: usize, tail: usize) -> String {
    if text.len() <= head + tail {
        return text.to_owned();
    }
    let boundary = |from: usize| (from..).find(|at| text.is_char_boundary(*at)).unwrap_or(from);
    let (head, tail) = (boundary(head), boundary(text.len() - tail));
    let cut = tail - head;
    format!(
        "{}\n[… {cut} bytes left out …]\n{}",
        text[..head].trim_end(),
        text[tail..].trim_start()
    )
}
