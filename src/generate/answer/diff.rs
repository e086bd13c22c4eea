//! Unified diffs. Models get line numbers wrong and the rest right, so that hunks are found by their
//! lines, as edit blocks are.

use super::edits::EditBlock;

/// The hunks of a diff; those of the file that a header names carry its name.
pub(super) fn read(text: &str) -> Vec<EditBlock> {
    let mut blocks: Vec<EditBlock> = Vec::new();
    let mut file = None;
    let mut hunk: Option<EditBlock> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) {
            blocks.extend(hunk.take());
            let name = name.split('\t').next().unwrap_or(name).trim();
            if name != "/dev/null" {
                file = Some(name.trim_start_matches("a/").trim_start_matches("b/").to_owned());
            }
        } else if line.starts_with("@@") {
            blocks.extend(hunk.take());
            hunk = Some(empty(file.clone()));
        } else if line.starts_with("diff ") || line.starts_with("index ") {
            blocks.extend(hunk.take());
        } else if !line.starts_with('\\') {
            // A hunk without a header, too: `diff` fences often have only marked lines.
            let hunk = hunk.get_or_insert_with(|| empty(file.clone()));
            if let Some(new) = line.strip_prefix('+') {
                hunk.replace.push(new.to_owned());
            } else if let Some(old) = line.strip_prefix('-') {
                hunk.search.push(old.to_owned());
            } else {
                let context = line.strip_prefix(' ').unwrap_or(line);
                hunk.search.push(context.to_owned());
                hunk.replace.push(context.to_owned());
            }
        }
    }
    blocks.extend(hunk);
    blocks.retain(|block| block.search != block.replace);
    blocks
}

fn empty(file: Option<String>) -> EditBlock {
    EditBlock { file, search: Vec::new(), replace: Vec::new() }
}
