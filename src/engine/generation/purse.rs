//! Tokens and money, as far as questions within a request need to know. The search debits a request by
//! what its first question can cost; an answer that cannot be read is asked for again without the search,
//! from this purse.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{kernel::Spend, search::Limits};

/// Tokens and money of a run, and what is taken out of them. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Purse {
    limits: Limits,
    spent: Arc<Mutex<Spend>>,
}

impl Purse {
    /// `spent` is what the run has spent so far.
    pub(super) fn new(limits: Limits, spent: Spend) -> Self {
        Self { limits, spent: Arc::new(Mutex::new(spent)) }
    }

    fn spent(&self) -> MutexGuard<'_, Spend> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what a question can cost that the search has debited itself.
    pub(super) fn hold(&self, estimate: &Spend) {
        let mut spent = self.spent();
        spent.tokens += estimate.tokens;
        spent.usd += estimate.usd;
    }

    /// Takes what a question can cost, if there is enough.
    pub(super) fn take(&self, estimate: &Spend) -> Result<(), String> {
        let mut spent = self.spent();
        if let Some(limit) = self.limits.forbids_question(&spent, estimate) {
            return Err(format!("the budget of {limit} does not allow another question"));
        }
        spent.tokens += estimate.tokens;
        spent.usd += estimate.usd;
        Ok(())
    }

    /// Puts what a question did cost in the place of what was taken for it.
    pub(super) fn settle(&self, estimate: &Spend, actual: &Spend) {
        let mut spent = self.spent();
        spent.tokens = spent.tokens.saturating_sub(estimate.tokens) + actual.tokens;
        spent.usd = (spent.usd - estimate.usd).max(0.0) + actual.usd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(tokens: u64, usd: f64) -> Spend {
        Spend { tokens, usd, ..Spend::default() }
    }

    #[test]
    fn a_question_is_paid_before_it_is_asked_and_the_change_given_back() {
        let limits = Limits { tokens: Some(1000), usd: Some(1.0), ..Limits::default() };
        let purse = Purse::new(limits, question(300, 0.1));
        purse.take(&question(600, 0.2)).unwrap();
        let refused = purse.take(&question(200, 0.0)).unwrap_err();
        assert_eq!(refused, "the budget of tokens does not allow another question");
        purse.settle(&question(600, 0.2), &question(100, 0.8));
        purse.hold(&question(0, 0.0));
        let refused = purse.clone().take(&question(200, 0.2)).unwrap_err();
        assert_eq!(refused, "the budget of money does not allow another question");
        purse.take(&question(600, 0.05)).unwrap();
    }
}
