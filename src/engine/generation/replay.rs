//! The answers of an earlier run in the place of a model's. They are found by what was asked for
//! (which candidate, which request), not by the words of the question: these hold times, which are
//! never the same twice.

use std::collections::HashMap;

use super::exchange::{Exchange, Said};
use crate::store::ExchangeKey;

/// The exchanges of an earlier run.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Recording {
    run: String,
    exchanges: HashMap<ExchangeKey, Said>,
}

impl Recording {
    pub(in crate::engine) fn new(run: impl Into<String>, exchanges: Vec<Exchange>) -> Self {
        let exchanges = exchanges.into_iter().map(|it| (it.key, it.said)).collect();
        Self { run: run.into(), exchanges }
    }

    /// What was said for a request.
    pub(super) fn find(&self, key: &ExchangeKey) -> Exchange {
        let said = self.exchanges.get(key).filter(|said| said.result.is_some()).cloned();
        let missing = || Said::nothing(format!("run {} was never asked for this", self.run));
        Exchange { key: key.clone(), said: said.unwrap_or_else(missing) }
    }
}
