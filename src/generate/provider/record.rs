//! Recorded answers: JSON lines, one answer each, appended as they come.
//!
//! A line holds the conversation as well, so that a recording can be read by itself, and so that
//! an answer cannot be attributed to a question it was not given to. Of several answers to one
//! conversation the last counts: a search that was interrupted before it could note an answer has
//! asked again and gone on with that one.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::Answer;
use crate::generate::conversation::{Conversation, ConversationId};

/// One line of a recording.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    id: ConversationId,
    /// Who answered.
    provider: String,
    model: String,
    conversation: Conversation,
    answer: Answer,
}

impl Record {
    pub(super) fn new(provider: &str, model: &str, asked: &Conversation, answer: &Answer) -> Self {
        Self {
            id: asked.id(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            conversation: asked.clone(),
            answer: answer.clone(),
        }
    }
}

/// Answers by conversation.
pub(super) type Answers = HashMap<ConversationId, Answer>;

/// Reads a recording, and how many bytes of it are whole lines: the last one is torn if the
/// process that wrote it was killed.
fn read(source: impl Read, path: &Path) -> Result<(Answers, u64), RecordError> {
    let mut reader = BufReader::new(source);
    let (mut answers, mut whole, mut line) = (Answers::new(), 0, Vec::new());
    for number in 1.. {
        line.clear();
        let count = reader
            .read_until(b'\n', &mut line)
            .map_err(|source| RecordError::Unreadable { path: path.to_owned(), source })?;
        if count == 0 || !line.ends_with(b"\n") {
            break;
        }
        whole += count as u64;
        let damaged = |reason| RecordError::Damaged { path: path.to_owned(), line: number, reason };
        let record: Record =
            serde_json::from_slice(&line).map_err(|error| damaged(error.to_string()))?;
        if record.id != record.conversation.id() {
            return Err(damaged("its id is not that of its conversation".into()));
        }
        answers.insert(record.id, record.answer);
    }
    if !line.is_empty() && !line.ends_with(b"\n") {
        tracing::warn!(path = %path.display(), "the last line of the recording is torn; leaving it out");
    }
    Ok((answers, whole))
}

/// The answers recorded in a file.
pub(super) fn load(path: &Path) -> Result<Answers, RecordError> {
    let file = File::open(path)
        .map_err(|source| RecordError::Unreadable { path: path.to_owned(), source })?;
    Ok(read(file, path)?.0)
}

/// A recording that is added to, by this process alone.
#[derive(Debug)]
pub(super) struct Tape {
    file: File,
    answers: Answers,
}

impl Tape {
    /// Goes on with the recording at `path`, or begins one.
    pub(super) fn open(path: &Path) -> Result<Self, RecordError> {
        let fail = |source| RecordError::Unwritable { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(fail)?;
        file.try_lock().map_err(|_| RecordError::Busy { path: path.to_owned() })?;
        let (answers, whole) = read(&file, path)?;
        file.set_len(whole).map_err(fail)?;
        file.seek(SeekFrom::End(0)).map_err(fail)?;
        Ok(Self { file, answers })
    }

    /// Adds an answer, unless it is what is known already.
    pub(super) fn add(&mut self, record: Record) -> io::Result<()> {
        if self.answers.get(&record.id) == Some(&record.answer) {
            return Ok(());
        }
        let mut line = serde_json::to_vec(&record)?;
        line.push(b'\n');
        let begin = self.file.stream_position()?;
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Half a line would spoil the next one. If this fails too, what follows fails as well.
            self.file.set_len(begin)?;
            self.file.seek(SeekFrom::Start(begin))?;
            return Err(error);
        }
        self.answers.insert(record.id, record.answer);
        Ok(())
    }
}

impl Drop for Tape {
    /// Closing the file would do, but for a process that is just being started elsewhere and has
    /// the file open for a moment, too.
    fn drop(&mut self) {
        self.file.unlock().ok();
    }
}

/// A recording that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot read the recording {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot record answers in {}: {source}", .path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("another process records in {}; choose another file", .path.display())]
    Busy { path: PathBuf },
    #[error(
        "{}:{line} is not a recorded answer ({reason}); remove the line or record again",
        .path.display()
    )]
    Damaged { path: PathBuf, line: u64, reason: String },
}
