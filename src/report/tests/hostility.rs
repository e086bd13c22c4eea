//! Candidates, contracts and models are not trusted with a reader's screen either.

use super::{samples::*, *};

/// What has no end tag.
const VOID: [&str; 2] = ["meta", "!DOCTYPE"];

#[test]
fn no_format_lets_control_characters_through() {
    let report = hostile();
    let texts = [
        terminal::render(&report, PLAIN),
        markdown::render(&report).unwrap(),
        html::render(&report).unwrap(),
        json::render(&report).unwrap(),
    ];
    for text in texts {
        let bad = text.chars().find(|c| {
            (c.is_control() && *c != '\n' && *c != '\t')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(bad, None, "{text}");
        // The sequences are gone as a whole (but for the diff, which shows them as text).
        let text = text.replace("⟨U+001B⟩[31m", "").replace("⟨U+001B⟩]0;title", "");
        assert!(text.contains("red"), "{text}");
        assert!(!text.contains("[31m") && !text.contains("]0;title"), "{text}");
    }
}

#[test]
fn a_diff_shows_what_it_must_not_print() {
    let report = hostile();
    for text in [markdown::render(&report).unwrap(), html::render(&report).unwrap()] {
        assert!(
            text.contains("⟨U+001B⟩[31;1m")
                || text.contains("⟨U+001B⟩[31m⟨")
                || text.contains("⟨U+202E⟩")
        );
    }
}

#[test]
fn html_has_no_markup_but_its_own() {
    for report in [improved(), reviewed(), no_improvement(), failed(), hostile()] {
        let page = html::render(&report).unwrap();
        balanced(&page);
        let lower = page.to_lowercase();
        for forbidden in
            ["<script", "<img", "<iframe", "<link", "<object", "src=", "href=", "url(", "@import"]
        {
            // In text, `<` is escaped; an attribute can only stand inside a tag.
            let inside_a_tag =
                tags(&lower).iter().any(|tag| format!("<{tag}>").contains(forbidden));
            assert!(!inside_a_tag, "{forbidden}");
        }
        let style = &lower[lower.find("<style>").unwrap()..lower.find("</style>").unwrap()];
        assert!(!style.contains("url(") && !style.contains("@import") && !style.contains("://"));
    }
}

#[test]
fn markdown_tables_and_fences_hold() {
    let text = markdown::render(&hostile()).unwrap();
    let (mut open_fence, mut columns, mut rows) = (None::<String>, None, 0);
    for line in text.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &open_fence {
            Some(fence) if line == fence => open_fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => open_fence = Some(ticks),
            None if line.starts_with('|') => {
                let bars = line.replace("\\|", "").matches('|').count();
                assert_eq!(*columns.get_or_insert(bars), bars, "{line}");
                rows += 1;
            }
            None => {
                columns = None;
                let own = [
                    "**",
                    "###",
                    "> ",
                    "- ",
                    "Speedup",
                    "Of 5 wrong",
                    "Measured time",
                    "<details>",
                    "<summary>",
                    "</details>",
                ];
                assert!(
                    line.is_empty() || own.iter().any(|start| line.starts_with(start)),
                    "{line}"
                );
            }
        }
    }
    assert_eq!(open_fence, None);
    assert!(rows > 30, "{rows} rows");
    let prose: String = text.split('`').step_by(2).collect();
    assert!(!prose.contains("<script"), "{prose}");
    assert!(!prose.contains("@torvalds"), "nobody is notified");
    assert!(!prose.contains("https://evil"), "{prose}");
}

#[test]
fn escape_sequences_go_as_a_whole_and_text_stays() {
    let cases = [
        ("\u{1b}[1;31mred\u{1b}[0m", "red"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}", "link"),
        ("\u{1b}(Bx\u{1b}", "Bx"),
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("naïve 🔥 日本", "naïve 🔥 日本"),
        ("\u{feff}x\u{85}\u{7f}\0y", "xy"),
    ];
    for (dirty, expected) in cases {
        assert_eq!(clean::text(dirty), expected, "{dirty:?}");
    }
}

/// The insides of all tags, which must be well formed.
fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap_or_else(|| panic!("a tag stays open"));
        tags.push(rest[start + 1..end].to_owned());
        rest = &rest[end + 1..];
    }
    tags
}

fn balanced(page: &str) {
    let mut open: Vec<String> = Vec::new();
    for tag in tags(page) {
        let name = tag.split([' ', '/']).next().unwrap_or_default().to_owned();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "in {tag}");
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<String>::new(), "never closed");
}
