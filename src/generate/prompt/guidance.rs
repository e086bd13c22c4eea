//! What the files of a repository that address contributors say about kernels.

use std::path::Path;

use super::{Guidance, excerpt};

/// Bytes of one file that go into a prompt.
const SHOWN: usize = 6 << 10;
/// Words that tell that a section is about kernels.
const WORDS: [&str; 4] = ["triton", "kernel", "gpu", "cuda"];

/// The sections of a Markdown file that are about kernels, shortened; `None` where there is none.
pub fn about_kernels(file: &Path, text: &str) -> Option<Guidance> {
    let chosen: Vec<&str> = sections(text).into_iter().filter(|it| is_about_kernels(it)).collect();
    let text = excerpt::shortened(chosen.join("\n").trim(), SHOWN, 0);
    let file = file.file_name()?.to_string_lossy().into_owned();
    (!text.is_empty()).then_some(Guidance { file, text })
}

/// The text cut before each heading that is not inside a fence.
fn sections(text: &str) -> Vec<&str> {
    let (mut cuts, mut at, mut fenced) = (vec![0], 0, false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with('#') && at > 0 {
            cuts.push(at);
        }
        at += line.len();
    }
    cuts.push(text.len());
    cuts.windows(2).filter_map(|ends| text.get(ends[0]..ends[1])).collect()
}

fn is_about_kernels(section: &str) -> bool {
    let section = section.to_lowercase();
    WORDS.iter().any(|word| {
        section.split(|c: char| !c.is_alphanumeric()).any(|it| it.trim_end_matches('s') == *word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "Welcome.\n\n# Set up\npip install -e .\n\n# Kernels\nKeep `num_stages` under 4.\n\
        ```\n# no heading: kernel\n```\n\n## Style\nTabs.\n\n## Benchmarks\nRun them on a GPU.\n";

    #[test]
    fn only_sections_about_kernels_are_told() {
        let found = about_kernels(Path::new("a/CONTRIBUTING.md"), FILE).unwrap();
        assert_eq!(found.file, "CONTRIBUTING.md");
        assert!(found.text.starts_with("# Kernels\nKeep"), "{}", found.text);
        assert!(found.text.contains("# no heading") && found.text.contains("on a GPU"));
        assert!(!found.text.contains("pip") && !found.text.contains("Tabs"), "{}", found.text);
        assert!(about_kernels(Path::new("AGENTS.md"), "# Style\nBe kind.\n").is_none());
    }

    #[test]
    fn a_long_file_is_cut() {
        let long = format!("# Kernels\n{}", "fast ".repeat(10_000));
        let found = about_kernels(Path::new("AGENTS.md"), &long).unwrap();
        assert!(found.text.len() < SHOWN + 100 && found.text.contains("bytes left out"));
    }
}
