//! What questions cost, by the user's prices.

use crate::{
    generate::{
        conversation::{Conversation, Usage},
        provider::{
            self,
            price::{self, Price},
        },
    },
    kernel::Spend,
};

/// Prices and limits of the one model that a run asks.
#[derive(Clone, Debug)]
pub(super) struct Tariff {
    /// Without it the cost in money is not known, and counts as none.
    price: Option<Price>,
    limits: provider::Limits,
}

impl Tariff {
    pub(super) fn new(price: Option<Price>, limits: provider::Limits) -> Self {
        Self { price, limits }
    }

    pub(super) fn spend(&self, usage: &Usage) -> Spend {
        Spend {
            tokens: usage.input + usage.output,
            usd: self.price.map_or(0.0, |price| price.cost(usage)),
            ..Spend::default()
        }
    }

    /// Most that a question can cost.
    pub(super) fn forecast(&self, conversation: &Conversation) -> Spend {
        self.spend(&self.most(conversation))
    }

    /// The same in tokens.
    pub(super) fn most(&self, conversation: &Conversation) -> Usage {
        price::forecast(conversation, &self.limits)
    }

    /// Most that a question of `input` tokens can cost.
    pub(super) fn forecast_of(&self, input: u64) -> Spend {
        let output = self.limits.output_tokens.into();
        self.spend(&Usage { input, cached_input: 0, output })
    }
}
