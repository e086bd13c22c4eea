//! Paths of the REST API. Every segment is escaped, so that a branch or a file name stays one.

use std::fmt::Write as _;

/// `/a/b%20c` of the segments `a` and `b c`.
pub(super) fn path<'a>(segments: impl IntoIterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for segment in segments {
        path.push('/');
        escape(segment, &mut path);
    }
    path
}

/// The segments of something that has slashes of its own: a reference or the path of a file.
pub(super) fn slashed(text: &str) -> impl Iterator<Item = &str> {
    text.split('/')
}

/// `?a=1&b=x%2Fy`.
pub(super) fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        query.push(if query.is_empty() { '?' } else { '&' });
        escape(name, &mut query);
        query.push('=');
        escape(value, &mut query);
    }
    query
}

/// Percent-encodes all but the characters that RFC 3986 calls unreserved.
fn escape(text: &str, into: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                into.push(char::from(byte));
            }
            // Writing to a String cannot fail.
            _ => drop(write!(into, "%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_segment() {
        assert_eq!(path(["repos", "o", "a/b?c#d é"]), "/repos/o/a%2Fb%3Fc%23d%20%C3%A9");
        assert_eq!(path(slashed("heads/fast/käse")), "/heads/fast/k%C3%A4se");
        assert_eq!(
            query([("head", "me:fast & small"), ("n", "1")]),
            "?head=me%3Afast%20%26%20small&n=1"
        );
    }
}
