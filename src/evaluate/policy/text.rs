//! From bytes to a syntax tree, where Python and the parser are sure to read the same program.

use tree_sitter::Node;

use super::reject;
use super::scopes::bindings;
use crate::kernel::Rejection;
use crate::kernel::syntax::{Source, children};

/// Bytes of source, at most.
const MAX_BYTES: usize = 1 << 20;

/// Levels of nesting, at most. Hand-written kernels stay under 100, and Python itself gives up
/// at 200 nested brackets; it bounds the time that the other rules take.
const MAX_DEPTH: u32 = 500;

/// Parses a candidate's bytes.
pub(super) fn read(bytes: &[u8]) -> Result<Source, Rejection> {
    if bytes.len() > MAX_BYTES {
        return Err(reject(format!(
            "the source has {} bytes; at most {MAX_BYTES} (1 MB) are allowed",
            bytes.len()
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = line_at(bytes, error.valid_up_to());
        reject("the source is not UTF-8").at_line(Some(line))
    })?;
    if let Some(at) = strange_byte(bytes) {
        return Err(reject(
            "a NUL or a carriage return without a line feed: Python would split the lines \
             elsewhere than the reader of the source does",
        )
        .at_line(Some(line_at(bytes, at))));
    }
    declared_encoding(text)?;
    let source = Source::parse(text).map_err(|error| {
        reject(format!("not valid Python near `{}`", error.excerpt)).at_line(Some(error.line))
    })?;
    if let Some(line) = too_deep(source.root()) {
        return Err(reject(format!("nested more than {MAX_DEPTH} levels deep")).at_line(Some(line)));
    }
    Ok(source)
}

/// `source` without what `if __name__ == "__main__":` guards at its top: a candidate is imported,
/// so that never runs. Lines keep their numbers. `None` where nothing is guarded.
pub(super) fn reached(source: &Source) -> Result<Option<Source>, Rejection> {
    let guarded: Vec<_> = match bindings(source, source.root(), "__name__") {
        0 => children(source.root()).filter_map(|it| guarded_block(source, it)).collect(),
        // Whoever binds the name decides what runs.
        _ => Vec::new(),
    };
    if guarded.is_empty() {
        return Ok(None);
    }
    let mut text = source.text().to_owned();
    for block in guarded.into_iter().rev() {
        let lines: String =
            source.slice(block).chars().filter(|it| matches!(it, '\r' | '\n')).collect();
        text.replace_range(block.byte_range(), &format!("pass{lines}"));
    }
    let reached = Source::parse(text).map_err(|error| {
        reject(format!("not valid Python near `{}`", error.excerpt)).at_line(Some(error.line))
    })?;
    Ok(Some(reached))
}

fn guarded_block<'s>(source: &Source, statement: Node<'s>) -> Option<Node<'s>> {
    let condition = (statement.kind() == "if_statement")
        .then(|| statement.child_by_field_name("condition"))??;
    let words: Vec<_> = source.slice(condition).split_whitespace().collect();
    let is_main = matches!(words.as_slice(), ["__name__", "==", "'__main__'" | "\"__main__\""]);
    statement.child_by_field_name("consequence").filter(|_| is_main)
}

fn line_at(bytes: &[u8], at: usize) -> u32 {
    let before = bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}

fn strange_byte(bytes: &[u8]) -> Option<usize> {
    bytes.iter().enumerate().position(|(at, byte)| match byte {
        0 => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    })
}

/// Python decodes a file as a comment in its first two lines says (PEP 263), so that another
/// encoding than UTF-8 would make it read another program than this gate does.
fn declared_encoding(text: &str) -> Result<(), Rejection> {
    for (line, content) in (1..).zip(text.lines().take(2)) {
        let Some((_, after)) = content.split_once('#').and_then(|(_, it)| it.split_once("coding"))
        else {
            continue;
        };
        let Some(after) = after.strip_prefix([':', '=']) else { continue };
        let name: String = after
            .trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            .collect();
        let plain = name.to_ascii_lowercase().replace('_', "-");
        if !matches!(plain.as_str(), "utf-8" | "utf8" | "ascii" | "us-ascii" | "utf-8-sig") {
            return Err(reject(format!("declares the encoding {name}; only UTF-8 is allowed"))
                .at_line(Some(line)));
        }
    }
    Ok(())
}

/// The line on which the tree goes below [`MAX_DEPTH`].
fn too_deep(root: Node<'_>) -> Option<u32> {
    let mut cursor = root.walk();
    loop {
        if cursor.depth() > MAX_DEPTH {
            return u32::try_from(cursor.node().start_position().row + 1).ok();
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}
