//! Token counts that servers report, taken for true only where they can be.

use serde_json::Value;

use super::{
    Counted, Limits,
    price::{estimate_prompt, estimate_tokens},
};
use crate::generate::conversation::{Conversation, Usage};

/// Tokens that a server may honestly count beyond every byte that it was sent or sent back: a
/// gateway's own instructions, templates of roles and tools.
const UNSEEN: u64 = 10_000;

/// The counts of a response; `None` for one that is missing or no natural number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported {
    /// Of the whole prompt, cached or not.
    pub(super) input: Option<u64>,
    pub(super) cached_input: Option<u64>,
    pub(super) output: Option<u64>,
}

impl Reported {
    /// These numbers if they can be true, else an estimate from the texts.
    pub(super) fn settle(
        self,
        conversation: &Conversation,
        text: &str,
        limits: &Limits,
    ) -> (Usage, Counted) {
        if let Some(usage) = self.plausible(conversation, text, limits) {
            return (usage, Counted::ByProvider);
        }
        (estimate(conversation, text), Counted::Estimated)
    }

    fn plausible(self, asked: &Conversation, text: &str, limits: &Limits) -> Option<Usage> {
        let usage =
            Usage { input: self.input?, cached_input: self.cached_input?, output: self.output? };
        let sent = asked.system.len() + asked.messages.iter().map(|m| m.text.len()).sum::<usize>();
        // No tokenizer in use makes more than one token of a byte. What is not seen of the output
        // is reasoning, which the limit of output tokens covers.
        let most_input = sent as u64 + UNSEEN;
        let most_output = u64::from(limits.output_tokens).max(text.len() as u64) + UNSEEN;
        let true_input = (1..=most_input).contains(&usage.input) || sent == 0;
        let true_output = usage.output <= most_output && (usage.output > 0 || text.is_empty());
        (true_input && true_output && usage.cached_input <= usage.input).then_some(usage)
    }
}

/// The usage of providers that do not count.
pub(super) fn estimate(conversation: &Conversation, text: &str) -> Usage {
    Usage { input: estimate_prompt(conversation), cached_input: 0, output: estimate_tokens(text) }
}

/// A count that has to be there.
pub(super) fn count(value: Option<&Value>) -> Option<u64> {
    value?.as_u64()
}

/// A count that servers without a cache leave out, or set to null.
pub(super) fn optional_count(value: Option<&Value>) -> Option<u64> {
    match value {
        None | Some(Value::Null) => Some(0),
        Some(value) => value.as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(input: Option<u64>, cached_input: Option<u64>, output: Option<u64>) -> Counted {
        let conversation = Conversation::new("Be brief.", "Make it faster.");
        let reported = Reported { input, cached_input, output };
        let (usage, counted) = reported.settle(&conversation, "Done.", &Limits::default());
        assert!(usage.input > 0 && usage.output > 0 && usage.cached_input <= usage.input);
        counted
    }

    #[test]
    fn counts_are_believed_as_far_as_they_can_be_true() {
        assert_eq!(settled(Some(11), Some(0), Some(2)), Counted::ByProvider);
        assert_eq!(settled(Some(11), Some(8), Some(20_000)), Counted::ByProvider, "it reasoned");
        let never_true = [
            (None, Some(0), Some(2)),
            (Some(11), None, Some(2)),
            (Some(11), Some(0), None),
            (Some(0), Some(0), Some(2)),
            (Some(11), Some(0), Some(0)),
            (Some(11), Some(12), Some(2)),
            (Some(u64::MAX), Some(0), Some(2)),
            (Some(11), Some(0), Some(90_000_000)),
        ];
        for (input, cached_input, output) in never_true {
            assert_eq!(settled(input, cached_input, output), Counted::Estimated);
        }
    }

    #[test]
    fn negative_and_fractional_counts_are_no_counts() {
        let usage = serde_json::json!({"a": -5, "b": 1.5, "c": "7", "d": null, "e": 7});
        assert_eq!(["a", "b", "c", "d", "x"].map(|name| count(usage.get(name))), [None; 5]);
        assert_eq!(count(usage.get("e")), Some(7));
        assert_eq!(optional_count(usage.get("a")), None);
        assert_eq!(["d", "x"].map(|name| optional_count(usage.get(name))), [Some(0); 2]);
    }
}
