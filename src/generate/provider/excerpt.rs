//! The beginning of a text that somebody else wrote, fit for one line of an error message.

const LONGEST: usize = 300;

/// At most the first 300 characters, on one line, without control characters.
pub(super) fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let mut line = String::new();
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(LONGEST) {
            line.truncate(end);
            return line + "…";
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line_that_does_nothing_to_a_terminal() {
        assert_eq!(excerpt(" bad\n\n\x1b[31m gateway\u{7f} "), "bad [31m gateway");
        assert_eq!(excerpt(&"é".repeat(301)).chars().count(), 301);
        assert_eq!(excerpt(&"é".repeat(300)), "é".repeat(300));
    }
}
