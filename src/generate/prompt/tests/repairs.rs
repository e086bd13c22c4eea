//! Rejections as the next turn.

use super::*;
use crate::generate::answer::AnswerError;
use crate::generate::conversation::Role;
use crate::kernel::{Gate, Rejection};

const SOURCE: &str = include_str!("../fixtures/mean.py");

fn repaired(answer: &str, failure: Failure<'_>) -> Conversation {
    let prompter = Prompter::new().unwrap();
    let first = prompter.conversation(&mean(), PLENTY).unwrap().conversation;
    let conversation = prompter.repair(&first, answer, failure).unwrap();
    assert_eq!(conversation.messages[..1], first.messages[..]);
    assert_eq!(conversation.system, first.system);
    conversation
}

#[test]
fn a_rejection_shows_its_gate_its_reason_and_the_lines_around() {
    let rejection = Rejection::new(Gate::Build, "CompilationError: at 4:8: shapes differ")
        .on_case("long")
        .at_line(Some(17));
    let failure = Failure::Gate { rejection: &rejection, source: SOURCE };
    let conversation = repaired("```python\nx = 1\n```", failure);
    let roles: Vec<_> = conversation.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    insta::assert_snapshot!("repair_gate", conversation.messages[2].text);
}

#[test]
fn an_answer_that_could_not_be_read_is_told_so() {
    let error = AnswerError::Unchanged;
    let conversation = repaired("", Failure::Answer(&error));
    assert_eq!(conversation.messages[1].text, "(an empty answer)");
    insta::assert_snapshot!("repair_answer", conversation.messages[2].text);
}

#[test]
fn long_reasons_keep_their_beginning_and_more_of_their_end() {
    let reason = format!("error: first\n{}\nlast: é is wrong", "noise é\n".repeat(2000));
    let rejection = Rejection::new(Gate::Correctness, reason);
    let failure = Failure::Gate { rejection: &rejection, source: SOURCE };
    let text = Prompter::new().unwrap().repair_message(failure).unwrap();
    assert!(text.len() < 2500, "{}", text.len());
    assert!(text.contains("error: first\n") && text.contains("last: é is wrong"), "{text}");
    assert!(text.contains("bytes left out"), "{text}");
}

#[test]
fn a_huge_answer_is_not_repeated_whole() {
    let error = AnswerError::NoCode;
    let conversation = repaired(&"ä".repeat(5 << 20), Failure::Answer(&error));
    assert!(conversation.messages[1].text.len() < 50 << 10);
}

#[test]
fn a_line_that_the_source_does_not_have_is_not_shown() {
    for line in [Some(0), Some(1000), None] {
        let rejection = Rejection::new(Gate::Policy, "imports os").at_line(line);
        let failure = Failure::Gate { rejection: &rejection, source: SOURCE };
        let text = Prompter::new().unwrap().repair_message(failure).unwrap();
        assert!(text.contains("imports os") && !text.contains(" | "), "{text}");
    }
}
