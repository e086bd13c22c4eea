//! What tokens cost.
//!
//! Prices are the user's: they change too often, and differ too much between contracts, to be
//! guessed. Without a price there is no cost, and a budget of money cannot be kept.
//!
//! A budget is debited by [`forecast`] before a call and corrected by the answer's usage after it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use super::tokens::{estimate_prompt, estimate_tokens};

use super::Limits;
use crate::generate::conversation::{Conversation, Usage};

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// Of input that the provider's cache had. Without it, the price of any input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    pub output: f64,
}

impl Price {
    /// US dollars for this many tokens.
    ///
    /// Anthropic charges a quarter more for input that it writes into its cache, which the usage
    /// does not tell apart; for instructions that many conversations share that is once in five
    /// minutes.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached_input.min(usage.input);
        let fresh = usage.input - cached;
        let million = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        million(fresh, self.input)
            + million(cached, self.cached_input.unwrap_or(self.input))
            + million(usage.output, self.output)
    }
}

/// Prices by `provider:model`, where a `*` at the end stands for any rest:
///
/// ```toml
/// "anthropic:claude-sonnet-4-5" = { input = 3.0, cached_input = 0.3, output = 15.0 }
/// "openai:gpt-5*" = { input = 1.25, cached_input = 0.125, output = 10.0 }
/// "command:*" = { input = 0.0, output = 0.0 }
/// ```
///
/// The whole name is preferred over a pattern, and a longer pattern over a shorter one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Price>", into = "BTreeMap<String, Price>")]
pub struct PriceTable(BTreeMap<String, Price>);

impl PriceTable {
    /// The price of a model, if one is known.
    pub fn price(&self, provider: &str, model: &str) -> Option<&Price> {
        let name = format!("{provider}:{model}");
        if let Some(price) = self.0.get(&name) {
            return Some(price);
        }
        let start = |pattern: &str| pattern.strip_suffix('*').map(str::to_owned);
        let fits = |start: &String| name.starts_with(start.as_str());
        self.0
            .iter()
            .filter_map(|(pattern, price)| Some((start(pattern).filter(fits)?.len(), price)))
            .max_by_key(|(length, _)| *length)
            .map(|(_, price)| price)
    }

    /// What a use of a model costs in US dollars; `None` without a price.
    pub fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Option<f64> {
        self.price(provider, model).map(|price| price.cost(usage))
    }
}

impl TryFrom<BTreeMap<String, Price>> for PriceTable {
    type Error = PriceError;

    fn try_from(prices: BTreeMap<String, Price>) -> Result<Self, PriceError> {
        for (pattern, price) in &prices {
            let name = pattern.strip_suffix('*').unwrap_or(pattern);
            if name.contains('*') || !(name.contains(':') || pattern == "*") {
                return Err(PriceError::Pattern { pattern: pattern.clone() });
            }
            let all = [Some(price.input), price.cached_input, Some(price.output)];
            if all.into_iter().flatten().any(|price| !price.is_finite() || price < 0.0) {
                return Err(PriceError::Amount { pattern: pattern.clone() });
            }
        }
        Ok(Self(prices))
    }
}

impl From<PriceTable> for BTreeMap<String, Price> {
    fn from(table: PriceTable) -> Self {
        table.0
    }
}

/// A price that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    #[error(
        "`{pattern}` names no model; write provider:model, with `*` only at the end, as in \
         openai:gpt-5*"
    )]
    Pattern { pattern: String },
    #[error("the price of `{pattern}` is not an amount; write US dollars for a million tokens")]
    Amount { pattern: String },
}

/// Most that a call may use, for debiting it beforehand: the whole prompt uncached and the longest
/// answer.
pub fn forecast(conversation: &Conversation, limits: &Limits) -> Usage {
    Usage {
        input: estimate_prompt(conversation),
        cached_input: 0,
        output: limits.output_tokens.into(),
    }
}

#[cfg(test)]
mod tests;
