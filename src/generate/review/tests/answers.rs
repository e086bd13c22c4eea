//! Answers in all their forms.

use super::*;
use crate::{
    generate::{
        conversation::Conversation,
        provider::Stop,
        review::answer::{LIMIT, REASONS, read},
    },
    kernel::ReviewLabel::*,
};

const CODE: &str = "5c1e09ab";

fn asked() -> Asked {
    Asked::of(&Conversation::new("You review.", "Which label fits the winner?"), CODE)
}

fn opinion(text: &str) -> Result<Opinion, Unreadable> {
    read(text, &Stop::Finished, &asked())
}

fn label(text: &str) -> Option<ReviewLabel> {
    opinion(text).ok().map(|opinion| opinion.label)
}

fn block(body: &str) -> String {
    format!("```review {CODE}\n{body}\n```\n")
}

#[test]
fn a_label_is_read_in_whatever_dress() {
    for (text, expected) in [
        ("label: no issue", NoIssue),
        ("Label:   NO ISSUE.", NoIssue),
        ("**Label:** No issues", NoIssue),
        ("**Label**: `minor issue`", MinorIssue),
        ("- label: Minor-Issue", MinorIssue),
        ("> verdict = pytorch_only", PytorchOnly),
        ("## Final label: PyTorch-only", PytorchOnly),
        ("\"label\": \"original_gaming\",", OriginalGaming),
        ("{\"label\": \"no issue\", \"reasons\": []}", NoIssue),
        ("| label | inherited gaming |", InheritedGaming),
        ("label: Beyond the speed of light", SolCeiling),
        ("label: SOL ceiling", SolCeiling),
        ("label：original gaming", OriginalGaming),
        ("label: gaming (constant output)", OriginalGaming),
        ("label: none", NoIssue),
        ("label: no issue found in either kernel", NoIssue),
        ("label: original gaming\u{fffd}", OriginalGaming),
    ] {
        assert_eq!(label(&block(text)), Some(expected), "{text}, with the code");
        assert_eq!(label(text), Some(expected), "{text}, without");
        let windows = format!("Well.\r\n\r\n~~~\r\n{text}\r\n~~~\r\n");
        assert_eq!(label(&windows), Some(expected), "{text}, as Windows writes it");
    }
    for text in ["no issue", "**No issues.**", "  `Original gaming`\n"] {
        assert!(label(text).is_some(), "{text}");
    }
}

#[test]
fn what_names_no_label_or_several_is_none() {
    for text in [
        "label: (one of the six)",
        "label: not original gaming",
        "label: no minor issue",
        "label: no issue or minor issue",
        "label: no issue | minor issue | PyTorch only",
        "label: original gaming rather than inherited gaming",
        "label: fine",
        "label: sol is not reached",
        "label:",
        "label",
        "The label no issue does not fit: it is gaming.",
        "I considered the following label for this kernel: no issue",
        "no issue was found",
        "There is no issue.",
        "no issue\nlooks good",
        "- **no issue**: kernels in the file compute every output",
    ] {
        assert_eq!(label(text), None, "{text}");
    }
    let unclear = opinion("label: fine, I guess").unwrap_err();
    assert_eq!(unclear, Unreadable::Undecided { said: "fine, I guess".into() });
}

#[test]
fn of_several_labels_the_most_severe_counts() {
    let text = "label: original gaming\nreason: kept\nlabel: no issue\nreason: clean";
    let read = opinion(&block(text)).unwrap();
    assert_eq!((read.label, read.reasons), (OriginalGaming, vec!["kept".to_owned()]));
    // What was weighed before the code was written down does not.
    let weighed = format!("label: original gaming?\nNo.\n\n{}", block("label: no issue"));
    assert_eq!(label(&weighed), Some(NoIssue));
    let thought = format!("<think>\n{CODE}\nlabel: original gaming\n</think>\nlabel: no issue");
    assert_eq!(label(&thought), Some(NoIssue));
}

#[test]
fn kinds_and_reasons_come_with_the_label() {
    let read = |text: &str| opinion(&block(text)).unwrap();
    let said = read(
        "label: original gaming (constant output)\nreasons:\n- It writes zeros.\n- Row\n  by row.\n\nAnd more.",
    );
    assert_eq!(said.kind.as_deref(), Some("constant output"));
    assert_eq!(said.reasons, ["It writes zeros.", "Row by row."]);
    let said = read("reason: It calls torch.sum.\nlabel: PyTorch only\nkind: none");
    assert_eq!((said.kind, said.reasons), (None, vec!["It calls torch.sum.".to_owned()]));
    assert_eq!(read("label: no issue\nkind: clean code").kind, None);
    let json = read(
        "{\n  \"label\": \"minor issue\",\n  \"kind\": \"precision\",\n  \"reasons\": [\n    \"Sums in fp16.\",\n    \"Not stated.\"\n  ]\n}",
    );
    assert_eq!(json.kind.as_deref(), Some("precision"));
    assert_eq!(json.reasons, ["Sums in fp16.", "Not stated."]);
}

#[test]
fn reasons_are_few_short_and_on_one_line() {
    let many = format!("label: minor issue\n{}", "reason: again\n".repeat(40));
    assert_eq!(opinion(&many).unwrap().reasons.len(), REASONS);
    let long = format!("label: minor issue\nreason: \u{1b}[31m{}", "word ".repeat(1000));
    let reason = opinion(&long).unwrap().reasons.remove(0);
    assert!(reason.chars().count() < 310 && !reason.contains('\u{1b}'), "{reason}");
}

#[test]
fn a_cut_answer_counts_as_far_as_its_lines_are_whole() {
    let cut = |text: &str| read(text, &Stop::OutputLimit, &asked()).map(|it| it.label);
    assert_eq!(cut("label: original gaming\nreason: it retu"), Ok(OriginalGaming));
    assert_eq!(cut("Let me see.\nlabel: no issue"), Err(Unreadable::NoLabel));
    assert_eq!(cut("label: no issue"), Err(Unreadable::Empty));
    assert_eq!(cut(""), Err(Unreadable::Empty));
}

#[test]
fn what_is_no_answer_is_called_that() {
    for empty in ["", " \n\t", "\u{feff}"] {
        assert_eq!(opinion(empty), Err(Unreadable::Empty));
    }
    let long = "label: no issue\n".repeat((10 << 20) / 16);
    assert_eq!(opinion(&long), Err(Unreadable::TooLong { bytes: 10 << 20 }));
    let lossy = String::from_utf8_lossy(b"\xff\xfelabel\xff: no issue\xff").into_owned();
    assert_eq!(label(&lossy), Some(NoIssue));
    assert_eq!(label("\0\u{202e}\u{2028}label"), None);
}

#[test]
fn repetition_comes_to_an_end() {
    let fill = |unit: &str| unit.repeat(LIMIT / unit.len());
    for unit in [
        "label:",
        "label: ",
        "label: no issue\n",
        CODE,
        "reason: a\n b\n",
        "`",
        "\n",
        "(",
        "label=no issue|",
        "no issue ",
        "</think>",
    ] {
        let text = fill(unit);
        let read = opinion(&text);
        let labelled = unit.starts_with("label") && unit.contains("no issue");
        assert_eq!(read.is_ok(), labelled, "{unit}: {read:?}");
        // In a question, too, which is shorter.
        Asked::of(&Conversation::new("", &text[..LIMIT / 8]), CODE);
    }
}
