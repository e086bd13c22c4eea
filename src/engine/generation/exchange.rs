//! What was said for one request, kept so that a run that is resumed asks the same again.

use serde::{Deserialize, Serialize};

use crate::{
    generate::{
        answer::{Form, Prediction},
        conversation::Conversation,
    },
    kernel::{CandidateId, Spend},
    store::{ExchangeKey, KeptExchange},
};

/// A request to a language model and what it has come to.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) struct Exchange {
    pub(in crate::engine) key: ExchangeKey,
    pub(in crate::engine) said: Said,
}

/// The part of an exchange that its key does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::engine) struct Said {
    /// Name of the expert task.
    pub(in crate::engine) task: String,
    /// Why it was chosen.
    #[serde(default)]
    pub(in crate::engine) reason: String,
    /// As it was asked last.
    pub(in crate::engine) conversation: Conversation,
    /// Times that this rewrite was sent back, those of earlier exchanges included.
    pub(in crate::engine) repairs: u32,
    /// What answers to the last question: `None` while it is awaited.
    #[serde(default)]
    pub(in crate::engine) answer: Option<String>,
    /// What it came to; `None` while that is open.
    #[serde(default)]
    pub(in crate::engine) result: Option<Result<Rewritten, String>>,
    /// Why the provider gave no answer, where that is what ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::engine) trouble: Option<String>,
    /// Tokens and money so far.
    #[serde(default)]
    pub(in crate::engine) spent: Spend,
}

impl Said {
    /// A first question.
    pub(super) fn asking(task: String, conversation: Conversation) -> Self {
        Self {
            task,
            reason: String::new(),
            conversation,
            repairs: 0,
            answer: None,
            result: None,
            trouble: None,
            spent: Spend::default(),
        }
    }

    /// Nothing was said, for a reason.
    pub(super) fn nothing(reason: impl Into<String>) -> Self {
        let result = Some(Err(reason.into()));
        Self { result, ..Self::asking(String::new(), Conversation::new("", "")) }
    }
}

/// A candidate that came of an exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::engine) struct Rewritten {
    pub(in crate::engine) candidate: CandidateId,
    pub(in crate::engine) source: String,
    pub(in crate::engine) form: Form,
    #[serde(default)]
    pub(in crate::engine) prediction: Option<Prediction>,
    /// What of the answer was passed over.
    #[serde(default)]
    pub(in crate::engine) notes: Vec<String>,
}

impl Exchange {
    pub(in crate::engine) fn kept(&self) -> Result<KeptExchange, serde_json::Error> {
        Ok(KeptExchange { key: self.key.clone(), body: serde_json::to_value(&self.said)? })
    }

    pub(in crate::engine) fn read(kept: KeptExchange) -> Result<Self, serde_json::Error> {
        Ok(Self { key: kept.key, said: serde_json::from_value(kept.body)? })
    }

    /// The candidate that came of it, if one did.
    pub(in crate::engine) fn rewritten(&self) -> Option<&Rewritten> {
        self.said.result.as_ref()?.as_ref().ok()
    }
}
