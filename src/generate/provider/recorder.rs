//! Records what another provider answers, for [replaying](super::ProviderSpec::Replay) it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;

use super::{
    Answer, Provider, ProviderError, Reply,
    error::Fault,
    record::{Record, RecordError, Tape},
};
use crate::generate::conversation::Conversation;

/// A provider whose answers are all kept in a file of JSON lines.
#[derive(Debug)]
pub struct Recorder {
    inner: Box<dyn Provider>,
    path: PathBuf,
    tape: Arc<Mutex<Tape>>,
}

impl Recorder {
    /// Records at the end of the file at `path`, which is made if it is not there.
    pub fn new(inner: Box<dyn Provider>, path: &Path) -> Result<Self, RecordError> {
        let tape = Arc::new(Mutex::new(Tape::open(path)?));
        Ok(Self { inner, path: path.to_owned(), tape })
    }

    async fn record(&self, conversation: &Conversation, answer: &Answer) -> io::Result<()> {
        let record = Record::new(self.name(), self.model(), conversation, answer);
        let tape = Arc::clone(&self.tape);
        // It waits for the disk.
        let work = move || tape.lock().unwrap_or_else(PoisonError::into_inner).add(record);
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }
}

#[async_trait]
impl Provider for Recorder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    /// Fails if an answer cannot be recorded: a run that goes on unrecorded pays for answers that
    /// nobody can replay.
    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError> {
        let reply = self.inner.ask(conversation).await?;
        if let Reply::Answer(answer) = &reply {
            self.record(conversation, answer).await.map_err(|source| {
                let fault = Fault::File { doing: "record in", path: self.path.clone(), source };
                ProviderError { usage: Some(answer.usage), ..fault.of(self) }
            })?;
        }
        Ok(reply)
    }

    async fn remarks(&self) -> Vec<String> {
        self.inner.remarks().await
    }
}
