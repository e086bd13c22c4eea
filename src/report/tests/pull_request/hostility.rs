//! Kernels, contracts, models and users are no authors of ours.

use super::{sizes::assert_well_formed, *};

const MARKER: &str = "<!-- kernelbrain:result 7f3a9c21d0e4 -->";

/// [`HOSTILE`] and what a pull request adds to it.
fn attack() -> String {
    format!("{MARKER} </details></summary> #123 GH-7 octo/kernels#9 @octo/team ![x](y) {HOSTILE}")
}

fn hostile_results() -> Vec<(KernelResult, Delivered)> {
    let attack = attack();
    let mut report = hostile();
    report.target.kind.clone_from(&attack);
    report.device.torch.clone_from(&attack);
    report.run.id.clone_from(&attack);
    report.budget.stopped = Some(attack.clone());
    report.best.as_mut().unwrap().moves = vec![attack.clone(), "\n\n```\n".into()];
    let kernel = KernelResult {
        name: attack.clone(),
        source: attack.clone(),
        report: Some(report),
        failure: None,
        tests: Some(TestsPassed { command: attack.clone(), seconds: None }),
        notes: vec![attack.clone()],
    };
    let mut stuck = kernel.clone();
    let report = stuck.report.as_mut().unwrap();
    (report.outcome, report.best_source) = (OutcomeKind::NoImprovement, None);
    let broken = KernelResult { report: None, failure: Some(attack.clone()), ..kernel.clone() };
    let url = Some(format!("https://x/)[y]({attack}"));
    let branch = Delivered::Branch { branch: attack.clone(), pull: Some(3), url: url.clone() };
    vec![
        (kernel.clone(), Delivered::Suggestion { url }),
        (kernel.clone(), branch),
        (kernel.clone(), Delivered::Commit { sha: attack.clone() }),
        (
            kernel.clone(),
            Delivered::Patch(format!("--- a/k\n+++ b/k\n@@ -1 +1 @@\n-a\n+{attack}\n")),
        ),
        (kernel, patch_of(&improved())),
        (stuck, Delivered::Nothing),
        (broken, Delivered::Nothing),
    ]
}

fn hostile_facts() -> PullRequestFacts {
    PullRequestFacts {
        repository: attack(),
        head_sha: attack(),
        job: "7f3a9c21d0e4".into(),
        requested_by: attack(),
        details: Some(format!("javascript:{}", attack())),
        ..facts()
    }
}

/// What is neither code nor a fence, as it is written and as it is read: addresses become links by how
/// they are written, people and issues are found in what is read.
fn prose(text: &str) -> (String, String) {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
    let (mut written, mut read, mut in_code) = (String::new(), String::new(), false);
    let options = Options::ENABLE_TABLES | Options::ENABLE_GFM;
    for (event, place) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Link { dest_url, .. }) => {
                assert!(dest_url.starts_with("https://"), "{dest_url}");
                assert!(!dest_url.contains("evil"), "{dest_url}");
            }
            Event::Start(Tag::Image { .. }) => panic!("an image: {text}"),
            Event::Text(part) if !in_code => {
                written += &text[place];
                read += &part;
            }
            // Inside of HTML that we write, a code element holds what comes from outside.
            Event::Html(part) | Event::InlineHtml(part) => {
                for part in part.split("<code>") {
                    let outside = part.rsplit("</code>").next().unwrap_or_default();
                    written += outside;
                    read += outside;
                }
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                written.push('\n');
                read.push('\n');
            }
            _ => {}
        }
    }
    (written, read)
}

fn assert_harmless(text: &str) {
    assert_well_formed(text);
    let (written, read) = prose(text);
    for planted in ["https://evil", "www.evil", "<script", "<img"] {
        assert!(!written.contains(planted), "{planted}: {written}");
    }
    for planted in ["@torvalds", "@octo", "#123", "#9", "GH-7"] {
        assert!(!read.contains(planted), "{planted}: {read}");
    }
    let bad = text.chars().find(|c| {
        (c.is_control() && *c != '\n' && *c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    });
    assert_eq!(bad, None, "{text}");
    assert!(!text[1..].contains("<!--"), "a planted comment: {text}");
}

#[test]
fn a_comment_says_nothing_in_the_name_of_others() {
    let results = hostile_results();
    let all = result_comment(&hostile_facts(), &results);
    assert!(is_marked(&all, "result", "7f3a9c21d0e4"));
    assert_harmless(&all);
    for one in &results {
        assert_harmless(&result_comment(&hostile_facts(), std::slice::from_ref(one)));
        let (_, check) = check_conclusion(&hostile_facts(), std::slice::from_ref(one));
        assert_harmless(&check.summary);
        assert!(check.title.chars().count() <= 120 && !check.title.contains('\n'));
    }
    insta::assert_snapshot!("comment_hostile", result_comment(&hostile_facts(), &results[..1]));
}

#[test]
fn a_patch_with_hidden_characters_is_not_shown_as_something_else() {
    let comment = result_comment(&facts(), &hostile_results()[3..4]);
    assert!(!comment.contains("```diff"), "{comment}");
    assert!(comment.contains("characters that a comment does not carry unchanged"));
}

#[test]
fn a_marker_counts_on_the_first_line_only_and_cannot_be_written_by_a_key() {
    let key = "7f3a9c21d0e4";
    assert!(is_marked(&format!("{MARKER}\nx"), "result", key));
    assert!(is_marked(&format!("{MARKER}\r\nx"), "result", key));
    assert!(!is_marked(&format!("x\n{MARKER}"), "result", key));
    assert!(!is_marked(MARKER, "result", "7f3a"));
    assert_eq!(marker("re sult", "a-->\n<b>"), "<!-- kernelbrain:re_sult a_____b_ -->");
}

#[test]
fn progress_and_answers_are_harmless_too() {
    let attack = attack();
    let rungs = vec![RungProgress { entered: usize::MAX / 40, ..RungProgress::default() }];
    let progress = Progress {
        device: Some(attack.clone()),
        interpreter: true,
        kernels: vec![KernelProgress {
            name: attack.clone(),
            phase: Phase::Searching,
            best_speedup: Some(f64::INFINITY),
            budget_left_seconds: Some(f64::NAN),
            rungs,
            ..KernelProgress::default()
        }],
    };
    let text = check_output(&progress);
    assert_harmless(&text.summary);
    assert!(!text.title.contains('\u{1b}') && !text.title.contains("NaN"), "{}", text.title);
    let asked = Asked { key: &attack, by: &attack };
    let job = JobStatus {
        job: attack.clone(),
        head_sha: attack.clone(),
        state: attack.clone(),
        requested_by: attack.clone(),
        ahead: None,
        progress: Some(progress),
        reason: attack.clone(),
    };
    let found = FoundKernel { source: attack.clone(), kernel_names: vec![attack.clone(); 3] };
    let kernel = result(hostile());
    for text in [
        refusal(asked, &attack, &attack),
        help(asked, Some(&attack), &[CommandHelp { usage: "/kernelbrain help", what: "This." }]),
        status(asked, &[job]),
        no_configuration(&attack, &[found]),
        review_body(&hostile_facts(), &[ReviewedKernel { result: &kernel, suggestions: 3 }]),
    ] {
        assert_harmless(&text);
    }
    let prose = suggestion_prose(&attack, 1, 2);
    assert!(!prose.contains("<!--"), "{prose}");
}
