//! Answers from a recording: no model, no network, the same every time.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::{
    Provider, ProviderError, Reply,
    error::Fault,
    record::{self, Answers, RecordError},
};
use crate::generate::conversation::Conversation;

#[derive(Debug)]
pub(super) struct Replay {
    path: PathBuf,
    /// The path, as the name of who answers.
    model: String,
    answers: Answers,
}

impl Replay {
    pub(super) fn open(path: &Path) -> Result<Self, RecordError> {
        let (path, model) = (path.to_owned(), path.display().to_string());
        Ok(Self { answers: record::load(&path)?, path, model })
    }
}

#[async_trait]
impl Provider for Replay {
    fn name(&self) -> &str {
        "replay"
    }

    fn model(&self) -> &str {
        &self.model
    }

    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError> {
        let id = conversation.id();
        let answer = self.answers.get(&id).cloned();
        let missing = || Fault::NotRecorded { id, path: self.path.clone() }.of(self);
        answer.map(Reply::Answer).ok_or_else(missing)
    }
}
