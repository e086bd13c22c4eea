//! The house rule of `docs/design.md`: a module imports only from floors below its own, and rooms
//! on one floor do not know each other.

use std::path::{Path, PathBuf};

/// Rooms and the floor they are on.
const ROOMS: [(&str, u32); 12] = [
    ("kernel", 2),
    ("gpu", 2),
    ("repo", 2),
    ("search", 3),
    ("generate", 3),
    ("evaluate", 3),
    ("store", 3),
    ("report", 3),
    ("github", 3),
    ("engine", 4),
    ("service", 5),
    ("cli", 6),
];

#[test]
fn every_module_looks_down_only() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut read = 0;
    for (room, floor) in ROOMS {
        for file in rust_files(&source.join(room)) {
            let text = std::fs::read_to_string(&file).unwrap();
            read += 1;
            for (other, height) in ROOMS {
                let looks_up = other != room && height >= floor && mentions(&text, other);
                if looks_up {
                    wrong.push(format!("{} uses {other}", file.display()));
                }
            }
        }
    }
    assert!(read > 100, "{read} files");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a path or an import list of the crate begins with `room`.
fn mentions(text: &str, room: &str) -> bool {
    let direct = format!("crate::{room}");
    if text.match_indices(&direct).any(|(at, found)| !continues(text, at + found.len())) {
        return true;
    }
    text.match_indices("use crate::{").any(|(at, _)| {
        let list = &text[at..at + text[at..].find("};").unwrap_or(0)];
        list.lines().any(|line| {
            let line = line.trim_start();
            line.strip_prefix(room)
                .is_some_and(|rest| rest.starts_with("::") || rest.starts_with(','))
        })
    })
}

fn continues(text: &str, at: usize) -> bool {
    text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
