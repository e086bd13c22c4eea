//! The answers of an earlier run in the place of a model's. They are found by what was asked for
//! (which candidate, which request), not by the words of the question: these hold times, which are
//! never the same twice. What a candidate was promoted from is part of the request, but another run
//! may come to ask on another rung.

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

    /// What was said for a request: on the rung that it comes from, or else on the lowest with a
    /// candidate. It is not said again.
    pub(super) fn take(&mut self, key: &ExchangeKey) -> Exchange {
        let exact = self.exchanges.get(key).is_some_and(|said| said.result.is_some());
        let found = if exact { Some(key.clone()) } else { self.on_another_rung(key) };
        let said = found.and_then(|found| self.exchanges.remove(&found));
        let missing = || Said::nothing(format!("run {} was never asked for this", self.run));
        Exchange { key: key.clone(), said: said.unwrap_or_else(missing) }
    }

    fn on_another_rung(&self, key: &ExchangeKey) -> Option<ExchangeKey> {
        self.exchanges
            .iter()
            .filter(|(other, _)| other.parent == key.parent && other.kind == key.kind)
            .filter_map(|(other, said)| Some((other, said.result.as_ref()?)))
            .min_by_key(|(other, result)| (result.is_err(), other.rung))
            .map(|(other, _)| other.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{CandidateId, RequestKind};

    fn asked(rung: Option<usize>, number: u32) -> ExchangeKey {
        ExchangeKey { parent: CandidateId::of("x"), rung, kind: RequestKind::Rewrite(number) }
    }

    #[test]
    fn answers_are_found_by_candidate_and_number_whatever_the_rung() {
        let exchanges = [
            (asked(Some(2), 0), Some("on rung 2")),
            (asked(Some(1), 0), Some("on rung 1")),
            (asked(Some(1), 1), None),
        ];
        let exchanges = exchanges.map(|(key, reason)| {
            let mut said = Said::nothing(reason.unwrap_or_default());
            said.result = said.result.filter(|_| reason.is_some());
            Exchange { key, said }
        });
        let mut recording = Recording::new("earlier", exchanges.into());
        let mut said = |rung, number| {
            let exchange = recording.take(&asked(rung, number));
            assert_eq!(exchange.key, asked(rung, number), "it is this run's exchange");
            exchange.said.result.unwrap().unwrap_err()
        };
        assert_eq!(said(Some(2), 0), "on rung 2");
        assert_eq!(said(Some(0), 0), "on rung 1");
        let nothing = "run earlier was never asked for this";
        assert_eq!(said(Some(1), 0), nothing, "no answer comes twice");
        assert_eq!(said(Some(1), 1), nothing, "it was asked and not answered");
        assert_eq!(said(Some(1), 2), nothing);
    }
}
