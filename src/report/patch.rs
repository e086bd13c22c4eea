//! A unified diff that `git apply` and `patch -p1` accept and that gives the winner byte for byte.

use std::{
    fmt::Write,
    ops::Range,
    path::{Component, Path},
};

use super::diff::hunks;

/// The patch that makes `new` of `old` in the file `path`, relative to the folder in which it will
/// be applied (of an absolute path, the root is left out). Empty when they are equal.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    let hunks = hunks(old, new);
    let mut patch = String::new();
    if hunks.is_empty() {
        return patch;
    }
    let path = relative(path);
    for (marker, side) in [("---", "a"), ("+++", "b")] {
        let _ = writeln!(patch, "{marker} {}", quoted(&format!("{side}/{path}")));
    }
    for hunk in hunks {
        let _ = writeln!(patch, "@@ -{} +{} @@", range(&hunk.old), range(&hunk.new));
        for line in hunk.lines {
            let _ = write!(patch, "{}{}", line.sign(), line.text);
            if !line.text.ends_with('\n') {
                patch.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    patch
}

/// First line and number of lines; an empty range is named by the line before it.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        length => format!("{},{length}", lines.start + 1),
    }
}

fn relative(path: &str) -> String {
    let names = Path::new(path).components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    names.collect::<Vec<_>>().join("/")
}

/// As git writes file names: in C quotes where a character would end the name early, with a tab
/// behind one that has spaces.
fn quoted(path: &str) -> String {
    if path.chars().any(|c| c.is_ascii_control() || c == '"' || c == '\\') {
        let mut quoted = String::from('"');
        for c in path.chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                _ if c.is_ascii_control() => {
                    let _ = write!(quoted, "\\{:03o}", u32::from(c));
                }
                _ => quoted.push(c),
            }
        }
        quoted.push('"');
        quoted
    } else if path.contains(' ') {
        format!("{path}\t")
    } else {
        path.to_owned()
    }
}
