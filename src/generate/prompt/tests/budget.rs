//! What is left out when a prompt is too long.

use super::*;

#[test]
fn the_least_useful_section_goes_first_and_whole() {
    let prompter = Prompter::new().unwrap();
    let whole = prompter.conversation(&mean(), PLENTY).unwrap();
    let prompt = prompter.conversation(&mean(), whole.tokens - 1).unwrap();
    assert_eq!(prompt.left_out, [Section::Recipes]);
    assert!(prompt.tokens < whole.tokens);
    let text = &prompt.conversation.messages[0].text;
    assert!(!text.contains("tile BLOCK=1024"), "{text}");
    assert!(text.contains("(Left out for length: the recipe steps that apply.)\n\n# Task: "));
}

#[test]
fn sections_go_in_the_documented_order_until_the_rest_fits() {
    let prompter = Prompter::new().unwrap();
    let mut budget = prompter.conversation(&mean(), PLENTY).unwrap().tokens;
    let mut longest = Vec::new();
    let needed = loop {
        match prompter.conversation(&mean(), budget) {
            Ok(prompt) => {
                assert!(prompt.tokens <= budget);
                longest = prompt.left_out;
                budget = prompt.tokens - 1;
            }
            Err(PromptError::TooLong { needed, .. }) => break needed,
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(longest, Section::DROPPED_FIRST);
    assert_eq!(needed, budget + 1);
}

#[test]
fn a_section_that_is_empty_is_not_called_left_out() {
    let prompter = Prompter::new().unwrap();
    let whole = prompter.conversation(&product(), PLENTY).unwrap();
    let error = prompter.conversation(&product(), whole.tokens - 1).unwrap_err().to_string();
    assert!(error.contains("allow more, or choose a smaller source file"), "{error}");
}

#[test]
fn every_section_is_kept_or_has_its_turn() {
    let kept = [Section::Contract, Section::Source, Section::Rules, Section::Task];
    for section in Section::ALL {
        let drops = Section::DROPPED_FIRST.contains(&section);
        assert_ne!(drops, kept.contains(&section), "{section}");
    }
}

#[test]
fn tokens_are_estimated_from_bytes() {
    assert_eq!(["", "a", "abc", "abcd", "äö"].map(estimate_tokens), [0, 1, 1, 2, 2]);
}
