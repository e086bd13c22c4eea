//! What GitHub makes of suggestions that are applied as one batch.

use super::{Suggestion, block, lines};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    #[error("the body for line {line} does not hold exactly one suggestion")]
    NoBlock { line: u32 },
    #[error("line {line} is not in the file, or its range is none")]
    NoSuchLines { line: u32 },
    #[error("line {line} has more than one suggestion")]
    Overlap { line: u32 },
    #[error("the suggestions are for more than one file")]
    OtherFile,
}

/// `head` with all of `suggestions` applied to the lines that they name in it. The text comes from
/// the bodies, as they are posted.
pub fn apply(head: &str, suggestions: &[Suggestion]) -> Result<String, ApplyError> {
    let mut of_head = lines(head);
    let one_file = suggestions.windows(2).all(|pair| pair[0].path == pair[1].path);
    if !one_file {
        return Err(ApplyError::OtherFile);
    }
    let mut replaced = Vec::with_capacity(suggestions.len());
    for suggestion in suggestions {
        let line = suggestion.line;
        let text = block::read(&suggestion.body).ok_or(ApplyError::NoBlock { line })?;
        let (first, last) = (suggestion.lines().start().saturating_sub(1) as usize, line as usize);
        // GitHub wants a range of one line without its start.
        let single = suggestion.start_line.is_some() && first + 1 == last;
        if first >= last || last > of_head.len() || single || suggestion.start_line == Some(0) {
            return Err(ApplyError::NoSuchLines { line });
        }
        replaced.push((first..last, text));
    }
    replaced.sort_by_key(|(range, _)| range.start);
    if let Some(pair) = replaced.windows(2).find(|pair| pair[1].0.start < pair[0].0.end) {
        return Err(ApplyError::Overlap { line: super::number(pair[1].0.start) });
    }
    // From the bottom up, so that no range moves before its turn.
    for (range, text) in replaced.iter().rev() {
        of_head.splice(range.clone(), [text.as_str()]);
    }
    Ok(of_head.concat())
}
