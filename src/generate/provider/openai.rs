//! Chat completions as OpenAI defined them and vLLM, Ollama, OpenRouter and company gateways
//! speak them.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap},
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

pub(super) const HOME: &str = "https://api.openai.com/v1";

const NAME: &str = "openai";

/// The limit of output tokens as OpenAI calls it now; its newer models refuse the other name.
const NEW_LIMIT: &str = "max_completion_tokens";
/// The name that every other server knows.
const OLD_LIMIT: &str = "max_tokens";

#[derive(Debug)]
pub(super) struct OpenAi {
    model: String,
    endpoint: Endpoint,
    limits: Limits,
    /// Whether the limit goes by its new name. A gateway to OpenAI is found out by its refusal.
    new_limit: AtomicBool,
}

impl OpenAi {
    /// `base` includes the version: `…/v1`.
    pub(super) fn new(
        model: &str,
        base: &Url,
        key: Option<Key>,
        key_variable: &'static str,
        limits: &Limits,
    ) -> Result<Self, SetupError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            headers.insert(AUTHORIZATION, key.header("Bearer ")?);
        }
        let url = base_url::join(base, "chat/completions");
        Ok(Self {
            model: model.to_owned(),
            endpoint: Endpoint::new(url, headers, key, key_variable, limits.clone())?,
            limits: limits.clone(),
            new_limit: AtomicBool::new(base.as_str() == HOME),
        })
    }

    fn request(&self, conversation: &Conversation, limit: &str) -> Value {
        let mut turns = Vec::new();
        if !conversation.system.trim().is_empty() {
            turns.push(json!({"role": "system", "content": conversation.system}));
        }
        turns.extend(
            conversation
                .messages
                .iter()
                .map(|turn| json!({"role": turn.role.as_str(), "content": turn.text})),
        );
        let mut request = json!({"model": self.model, "messages": turns, "stream": false});
        request[limit] = json!(self.limits.output_tokens);
        request
    }

    /// The answer in what the server sent.
    pub(super) fn reply(
        &self,
        conversation: &Conversation,
        completion: &Value,
    ) -> Result<Reply, Failure> {
        let Some(choice) = completion.pointer("/choices/0") else {
            let reason = "it is JSON without `choices`, so not from a chat completions API".into();
            return Err(Fault::Garbage { reason }.into());
        };
        // OpenRouter's way of telling that the model failed behind it.
        if let Some(fault) = self.endpoint.error_within(choice) {
            return Err(fault.into());
        }
        let message = choice.get("message");
        let refusal = message.and_then(|message| message.get("refusal")?.as_str());
        let refusal = refusal.filter(|refusal| !refusal.is_empty());
        let stop = match choice.get("finish_reason").and_then(Value::as_str) {
            _ if refusal.is_some() => Stop::Refusal,
            None | Some("stop") => Stop::Finished,
            Some("length") => Stop::OutputLimit,
            Some("content_filter") => Stop::Refusal,
            Some(other) => Stop::other(&self.endpoint.redact(other)),
        };
        let content = message.and_then(|message| message.get("content"));
        let text = refusal.map_or_else(|| content.map(text_of).unwrap_or_default(), str::to_owned);
        let text = self.endpoint.redact(&text);
        chat::answer(self, conversation, text, stop, reported(completion), &self.limits)
    }

    async fn exchange(&self, conversation: &Conversation) -> Result<Reply, Failure> {
        chat::check(conversation)?;
        let new_limit = self.new_limit.load(Ordering::Relaxed);
        let limit = if new_limit { NEW_LIMIT } else { OLD_LIMIT };
        let completion = match self.endpoint.post(&self.request(conversation, limit)).await {
            Err(Fault::Refused { said }) if !new_limit && said.message.contains(NEW_LIMIT) => {
                self.new_limit.store(true, Ordering::Relaxed);
                self.endpoint.post(&self.request(conversation, NEW_LIMIT)).await?
            }
            result => result?,
        };
        self.reply(conversation, &completion)
    }
}

/// The text of a message: a string, or parts of which some are text.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

fn reported(completion: &Value) -> Reported {
    Reported {
        input: count(completion.pointer("/usage/prompt_tokens")),
        cached_input: optional_count(
            completion.pointer("/usage/prompt_tokens_details/cached_tokens"),
        ),
        output: count(completion.pointer("/usage/completion_tokens")),
    }
}

#[async_trait]
impl Provider for OpenAi {
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
