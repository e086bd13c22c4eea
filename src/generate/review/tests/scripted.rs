//! A model that says what it was told to say, and remembers what it was asked.

use std::sync::Mutex;

use async_trait::async_trait;

use crate::generate::{
    conversation::{Conversation, Usage},
    provider::{Answer, Counted, Fault, Provider, ProviderError, Reply, Stop},
};

type Line = Box<dyn Fn(&Conversation) -> Option<Reply> + Send + Sync>;

/// Answers with its lines in turn, the last one for ever; a line that is `None` is an error.
pub(super) struct Scripted {
    lines: Vec<Line>,
    asked: Mutex<Vec<Conversation>>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

/// An answer that took 100 tokens in and 10 out.
pub(super) fn answer(text: impl Into<String>, stop: Stop) -> Reply {
    let usage = Usage { input: 100, cached_input: 0, output: 10 };
    Reply::Answer(Answer { text: text.into(), usage, counted: Counted::ByProvider, stop })
}

/// A line that fills in `block`, behind the code that it is asked for.
pub(super) fn with_code(block: &'static str) -> Line {
    Box::new(move |talk| {
        let message = &talk.messages.last().unwrap().text;
        let code = message.rsplit("```review ").next().unwrap().lines().next().unwrap();
        let text = format!("I looked at it.\n\n```review {code}\n{block}\n```\n");
        Some(answer(text, Stop::Finished))
    })
}

/// A line that is always the same.
pub(super) fn says(text: &'static str) -> Line {
    Box::new(move |_| Some(answer(text, Stop::Finished)))
}

impl Scripted {
    pub(super) fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self { lines: lines.into_iter().collect(), asked: Mutex::default() }
    }

    pub(super) fn asked(&self) -> Vec<Conversation> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> &str {
        "second-opinion"
    }

    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError> {
        let mut asked = self.asked.lock().unwrap();
        let line = &self.lines[asked.len().min(self.lines.len() - 1)];
        asked.push(conversation.clone());
        line(conversation).ok_or_else(|| ProviderError {
            provider: "scripted".into(),
            model: "second-opinion".into(),
            attempts: 1,
            fault: Fault::Garbage { reason: "noise on the line".into() },
            usage: None,
        })
    }
}
