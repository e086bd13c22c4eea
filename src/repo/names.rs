//! Names of files that are harmless on every file system a checkout may meet.

/// Longest path below the root of a checkout, in bytes.
pub(super) const LONGEST_PATH: usize = 3000;
/// Longest single name, in bytes.
const LONGEST_NAME: usize = 255;

/// Whether a tree entry's name may become a file's name. Trees can be made by hand, so a name can
/// be anything: `..`, something with a slash, or `.git` in one of its disguises.
pub(super) fn harmless(name: &[u8]) -> bool {
    let shape = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name != b"."
        && name != b".."
        && !name.iter().any(|byte| matches!(byte, b'/' | b'\\' | 0));
    shape && !is_git_folder(name)
}

/// `.git` as case-insensitive file systems, NTFS (trailing dots and spaces, streams, short names)
/// and HFS+ (characters it ignores) would read it.
fn is_git_folder(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name);
    let seen: String = text.chars().filter(|c| !ignored_by_hfs(*c)).collect();
    let stem = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    stem.eq_ignore_ascii_case(".git") || stem.eq_ignore_ascii_case("git~1")
}

fn ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn disguises_of_git_are_seen_through() {
        for name in [".git", ".GiT", ".git.", ".git ", ".git::$INDEX", "GIT~1", ".g\u{200c}it"] {
            assert!(!harmless(name.as_bytes()), "{name:?}");
        }
        for name in [".", "..", "", "a/b", "a\\b", "../x"] {
            assert!(!harmless(name.as_bytes()), "{name:?}");
        }
        for name in [".github", ".gitignore", "git", "...", "a b", "größe.py"] {
            assert!(harmless(name.as_bytes()), "{name:?}");
        }
    }
}
