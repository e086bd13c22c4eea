//! However much there is to tell, GitHub takes it.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::*;

/// As GitHub reads it: every `<details>` closed where Markdown is read, every fence by itself.
pub(super) fn assert_well_formed(text: &str) {
    assert!(text.chars().count() <= LONGEST, "{} characters", text.chars().count());
    let mut open = 0i32;
    let mut fence = None::<&str>;
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(opened) if line == opened => fence = None,
            None if ticks.len() >= 3 && !line[ticks.len()..].contains('`') => fence = Some(ticks),
            _ => {}
        }
    }
    assert_eq!(fence, None, "a fence stays open: {text}");
    let (mut blocks, mut html) = (0, String::new());
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_GFM) {
        match event {
            Event::Html(part) | Event::InlineHtml(part) => html += &part,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => blocks += 1,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => panic!("indented: {text}"),
            _ => {}
        }
    }
    for tag in html.split('<').skip(1) {
        let name: String =
            tag.chars().take_while(|c| c.is_alphanumeric() || "/!-".contains(*c)).collect();
        match name.as_str() {
            "details" => open += 1,
            "/details" => open -= 1,
            "summary" | "/summary" | "code" | "/code" | "sub" | "/sub" => {}
            comment if comment.starts_with("!--") => {
                assert!(text.starts_with(&format!("<{}", tag.trim_end())), "{tag}");
            }
            other => panic!("<{other}> is none of ours: {text}"),
        }
        assert!((0..=1).contains(&open), "{text}");
    }
    assert_eq!(open, 0, "{text}");
    assert!(blocks < 200);
}

/// `report` with more of everything than anybody reads.
fn enormous(mut report: Report) -> Report {
    let case = report.cases[0].clone();
    report.cases = (0..600).map(|n| CaseRow { name: format!("case{n}"), ..case.clone() }).collect();
    let finding = report.audit.passed[0].clone();
    report.audit.passed = vec![finding; 500];
    report.warnings = vec!["w".repeat(1000); 100];
    report.best.as_mut().unwrap().moves = vec!["tile BLOCK=2048".repeat(40); 100];
    report.generation.as_mut().unwrap().unused = vec!["u".repeat(1000); 100];
    report
}

#[test]
fn samples_are_well_formed() {
    for report in [improved(), reviewed(), no_improvement(), failed()] {
        assert_well_formed(&result_comment(&facts(), &[(result(report), suggestion())]));
    }
}

#[test]
fn the_least_important_sections_go_and_are_named() {
    let comment = result_comment(&facts(), &[(tested(enormous(improved())), suggestion())]);
    assert_well_formed(&comment);
    let note = comment.lines().find(|line| line.starts_with("Left out")).unwrap();
    assert_eq!(
        note,
        "Left out, because a comment on GitHub must not be longer: the other cases of `softmax`, \
         the speed of light of `softmax`."
    );
    for kept in [
        "Rung by rung",
        "Profile before and after",
        "To repeat it:",
        "600 cases verified",
        "What it cost",
    ] {
        assert!(comment.contains(kept), "{kept}");
    }
}

#[test]
fn forty_large_kernels_keep_their_verdicts() {
    let results: Vec<_> = (0..40)
        .map(|n| {
            let mut report = enormous(improved());
            report.target.name = format!("kernel{n}");
            (tested(report), suggestion())
        })
        .collect();
    let comment = result_comment(&facts(), &results);
    assert_well_formed(&comment);
    for n in 0..40 {
        assert!(comment.contains(&format!("**kernel{n} is 1.72× faster**")), "{n}");
    }
    assert!(comment.contains("more sections.") && comment.contains("### `kernel39`"));
    let (_, check) = check_conclusion(&facts(), &results);
    assert_well_formed(&check.summary);
}

#[test]
fn a_patch_that_does_not_fit_is_said_to_be_elsewhere() {
    let report = improved();
    let long = "+x\n".repeat(20_000);
    let patch = format!("--- a/k.py\n+++ b/k.py\n@@ -1,0 +1,20000 @@\n{long}");
    let comment = result_comment(&facts(), &[(result(report), Delivered::Patch(patch))]);
    assert_well_formed(&comment);
    assert!(!comment.contains("```diff"));
    assert!(comment.contains("it is too long for a comment"), "{comment}");
    // Of several, as many as there is room for.
    let patch = format!("--- a/k.py\n+++ b/k.py\n@@ -1,0 +1,9000 @@\n{}", "+x\n".repeat(9000));
    let results = vec![(result(improved()), Delivered::Patch(patch)); 3];
    let comment = result_comment(&facts(), &results);
    assert_well_formed(&comment);
    assert_eq!(comment.matches("```diff").count(), 1);
    assert_eq!(comment.matches("**Apply the patch below**").count(), 1);
    assert_eq!(comment.matches("too long for a comment").count(), 2);
}
