//! Anthropic's Messages API, version 2023-06-01.

use async_trait::async_trait;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Value, json};

use super::{
    Limits, Provider, ProviderError, Reply, Stop, base_url,
    chat::{self, Failure},
    endpoint::Endpoint,
    error::Fault,
    key::Key,
    setup::SetupError,
    usage::{Reported, count, optional_count},
};
use crate::generate::conversation::Conversation;

pub(super) const HOME: &str = "https://api.anthropic.com";

const NAME: &str = "anthropic";
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

#[derive(Debug)]
pub(super) struct Anthropic {
    model: String,
    endpoint: Endpoint,
    limits: Limits,
}

impl Anthropic {
    /// `base` is the address without `/v1`, as the provider's own tools take it; with it is
    /// understood, too.
    pub(super) fn new(
        model: &str,
        base: &Url,
        key: Option<Key>,
        key_variable: &'static str,
        limits: &Limits,
    ) -> Result<Self, SetupError> {
        let versioned = base.path().trim_end_matches('/').ends_with("/v1");
        let url = base_url::join(base, if versioned { "messages" } else { "v1/messages" });
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("anthropic-version"), VERSION);
        if let Some(key) = &key {
            headers.insert(HeaderName::from_static("x-api-key"), key.header("")?);
        }
        let endpoint = Endpoint::new(url, headers, key, key_variable, limits.clone())?;
        Ok(Self { model: model.to_owned(), endpoint, limits: limits.clone() })
    }

    fn request(&self, conversation: &Conversation) -> Value {
        let turns: Vec<Value> = conversation
            .messages
            .iter()
            .map(|turn| json!({"role": turn.role.as_str(), "content": turn.text}))
            .collect();
        let mut request = json!({
            "model": self.model,
            "max_tokens": self.limits.output_tokens,
            "messages": turns,
        });
        // The API refuses empty texts. What stands before the mark is kept for five minutes and
        // read for a tenth of the price by every conversation that begins with it.
        if !conversation.system.trim().is_empty() {
            request["system"] = json!([{
                "type": "text",
                "text": conversation.system,
                "cache_control": {"type": "ephemeral"},
            }]);
        }
        request
    }

    /// The answer in what the server sent.
    pub(super) fn reply(
        &self,
        conversation: &Conversation,
        message: &Value,
    ) -> Result<Reply, Failure> {
        let Some(blocks) = message.get("content").and_then(Value::as_array) else {
            let reason = "it is JSON without `content`, so not from a Messages API".into();
            return Err(Fault::Garbage { reason }.into());
        };
        // Other kinds of block hold reasoning and calls of tools.
        let text: String = blocks
            .iter()
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|block| block.get("text")?.as_str())
            .collect();
        let stop = match message.get("stop_reason").and_then(Value::as_str) {
            None | Some("end_turn" | "stop_sequence") => Stop::Finished,
            Some("max_tokens" | "model_context_window_exceeded") => Stop::OutputLimit,
            Some("refusal") => Stop::Refusal,
            Some(other) => Stop::other(&self.endpoint.redact(other)),
        };
        let text = self.endpoint.redact(&text);
        chat::answer(self, conversation, text, stop, reported(message.get("usage")), &self.limits)
    }

    async fn exchange(&self, conversation: &Conversation) -> Result<Reply, Failure> {
        chat::check(conversation)?;
        let message = self.endpoint.post(&self.request(conversation)).await?;
        self.reply(conversation, &message)
    }
}

/// Here `input_tokens` are only those that the cache had nothing to do with.
fn reported(usage: Option<&Value>) -> Reported {
    let field = |name: &str| usage.and_then(|usage| usage.get(name));
    let cached = optional_count(field("cache_read_input_tokens"));
    let parts = [
        count(field("input_tokens")),
        optional_count(field("cache_creation_input_tokens")),
        cached,
    ];
    let input = parts.into_iter().try_fold(0_u64, |sum, part| sum.checked_add(part?));
    Reported { input, cached_input: cached, output: count(field("output_tokens")) }
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        &self.model
    }

    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError> {
        self.exchange(conversation).await.map_err(|failure| failure.of(self))
    }
}
