//! A folder in which prompts lie until somebody answers: a batch interface, or people.
//!
//! `<id>.prompt.md` is written once and whole; `<id>.answer.md` is taken when it is there. A file
//! that is still being written cannot be told from one that is finished, so an answer has to be
//! written under another name and renamed. Answers may come in any order and at any time.

use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use rustix::{fs::OFlags, io::Errno};

use super::{
    Answer, Counted, Limits, Provider, ProviderError, Reply, Stop, chat, error::Fault,
    setup::SetupError, usage,
};
use crate::generate::conversation::Conversation;

const PROMPT: &str = ".prompt.md";
const ANSWER: &str = ".answer.md";

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The path, as the name of who answers.
    model: String,
    answer_bytes: usize,
}

impl Folder {
    /// The folder is made if it is not there.
    pub(super) fn open(path: &Path, limits: &Limits) -> Result<Self, SetupError> {
        fs::create_dir_all(path)
            .map_err(|source| SetupError::Folder { path: path.to_owned(), source })?;
        let (path, model) = (path.to_owned(), path.display().to_string());
        Ok(Self { path, model, answer_bytes: limits.answer_bytes })
    }

    async fn exchange(&self, conversation: &Conversation) -> Result<Reply, Fault> {
        chat::check(conversation)?;
        let id = conversation.id();
        let prompt = self.path.join(format!("{id}{PROMPT}"));
        let answer = self.path.join(format!("{id}{ANSWER}"));
        let (conversation, limit) = (conversation.clone(), self.answer_bytes);
        let work = move || {
            if !prompt.exists() {
                let text = prompt_text(&conversation);
                write_once(&prompt, &text).map_err(|source| Fault::File {
                    doing: "write",
                    path: prompt,
                    source,
                })?;
            }
            let Some(text) = read(&answer, limit)? else { return Ok(Reply::Awaited) };
            let usage = usage::estimate(&conversation, &text);
            let (counted, stop) = (Counted::Estimated, Stop::Finished);
            Ok(Reply::Answer(Answer { text, usage, counted, stop }))
        };
        // Folders of batch interfaces are often on a network.
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
            let (path, source) = (self.path.clone(), io::Error::other(error));
            Err(Fault::File { doing: "use", path, source })
        })
    }
}

/// What a reader of the prompt has to know comes first, in a comment that Markdown does not show.
fn prompt_text(conversation: &Conversation) -> String {
    let id = conversation.id();
    format!(
        "<!-- Answer this in a file {id}{ANSWER} beside it; write it under another name first and \
         rename it when it is complete. -->\n\n{}",
        conversation.to_markdown()
    )
}

/// Whoever lists the folder sees the whole file or none, after a crash as well.
fn write_once(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".prompt-")
        // Others may be the ones to answer; the process's mask decides.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        // Another process asked the same; what it wrote is the same.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
        Ok(_) => Ok(()),
    }
}

/// The answer, if there is one. What is no file of its own (a link, a folder, a pipe) is none, and
/// neither is an empty file: whoever made it may not be done.
fn read(path: &Path, limit: usize) -> Result<Option<String>, Fault> {
    let fail = |source| Fault::File { doing: "read", path: path.to_owned(), source };
    let from = || path.display().to_string();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = File::options()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // That is how a link is refused.
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            tracing::warn!(path = %path.display(), "a link is no answer");
            return Ok(None);
        }
        Err(error) => return Err(fail(error)),
        Ok(file) => file,
    };
    if !file.metadata().map_err(fail)?.is_file() {
        tracing::warn!(path = %path.display(), "not a regular file, and so no answer");
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() > limit {
        return Err(Fault::TooLong { from: from(), limit });
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| Fault::NotUtf8 { from: from(), at: error.utf8_error().valid_up_to() })?;
    Ok(Some(text))
}

/// Files of the folder that look like answers and are taken for none, and why.
fn remarks(folder: &Path) -> io::Result<Vec<String>> {
    let names: BTreeSet<String> = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let remark = |name: &String| {
        let id = name.strip_suffix(ANSWER)?;
        let path = folder.join(name);
        let kept = fs::symlink_metadata(&path).ok()?;
        let why = if !kept.is_file() {
            "is no file of its own, and so no answer"
        } else if kept.len() <= FEW && fs::read(&path).ok()?.iter().all(u8::is_ascii_whitespace) {
            "is empty: it counts when something is in it"
        } else if !names.contains(&format!("{id}{PROMPT}")) {
            "has no prompt beside it: it counts if a question of that name is asked"
        } else {
            return None;
        };
        Some(format!("{} {why}", path.display()))
    };
    Ok(names.iter().filter_map(remark).collect())
}

/// Bytes of white space that are looked at.
const FEW: u64 = 64;

#[async_trait]
impl Provider for Folder {
    fn name(&self) -> &str {
        "folder"
    }

    fn model(&self) -> &str {
        &self.model
    }

    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError> {
        self.exchange(conversation).await.map_err(|fault| fault.of(self))
    }

    async fn remarks(&self) -> Vec<String> {
        let path = self.path.clone();
        // Only a warning depends on it.
        let found = tokio::task::spawn_blocking(move || remarks(&path)).await;
        found.ok().and_then(Result::ok).unwrap_or_default()
    }
}
