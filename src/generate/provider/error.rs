//! What can go wrong between a question and its answer, and what the user can do about it.

use std::{fmt, io, path::PathBuf, time::Duration};

use super::Provider;
use crate::generate::conversation::{ConversationId, Usage};

/// A question that got no answer.
#[derive(Debug, thiserror::Error)]
#[error("{provider}:{model}: {fault}{}", after(*.attempts))]
pub struct ProviderError {
    pub provider: String,
    pub model: String,
    /// Calls that were made for it.
    pub attempts: u32,
    pub fault: Fault,
    /// What the last call cost nevertheless, where the provider said so.
    pub usage: Option<Usage>,
}

/// What happened. Texts of servers and programs are in it, cut short and without the key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    #[error("the server refuses the key ({said}); {advice}")]
    Key { said: Said, advice: String },
    #[error("the account is out of credit or quota ({said}); top it up, or choose another model")]
    Credit { said: Said },
    #[error(
        "the server does not know the model, or nothing answers at {url} ({said}); check the name \
         of the model and the base URL"
    )]
    NotFound { said: Said, url: String },
    #[error("the server refuses the question ({said}); what it says is what has to change")]
    Refused { said: Said },
    #[error(
        "the server wants to be asked elsewhere ({said}); keys are not carried along, so give the \
         final base URL: {location}"
    )]
    Redirected { said: Said, location: String },
    #[error(
        "the server is overloaded or out of order ({said}){}; resume the run later, or allow fewer \
         calls at once",
        asked(*.retry_after)
    )]
    Unavailable { said: Said, retry_after: Option<Duration> },
    #[error(
        "the connection to {url} failed: {reason}; check the base URL, the network and proxies"
    )]
    Connection { url: String, reason: String },
    #[error(
        "no complete answer within {}; allow more time, or fewer output tokens",
        humantime::format_duration(*.limit)
    )]
    TimedOut { limit: Duration },
    #[error("{from} is longer than {limit} bytes; if it should be, allow longer answers")]
    TooLong { from: String, limit: usize },
    #[error("the server's answer is not one: {reason}; check that the base URL is that of an API")]
    Garbage { reason: String },
    #[error("{from} is empty; ask again, or choose another model")]
    Empty { from: String },
    #[error("{from} is not UTF-8 (byte {at}); write it as UTF-8 text")]
    NotUtf8 { from: String, at: usize },
    #[error("cannot run {program}: {source}; check that it is installed and on the PATH")]
    Start { program: String, source: io::Error },
    #[error(
        "{program} failed ({status}); keys are not passed on to it, so it must be logged in by \
         itself; {}",
        printed(.stderr)
    )]
    Command { program: String, status: String, stderr: String },
    #[error("cannot {doing} {}: {source}", .path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "{} has no answer to conversation {id}; record it again, or replay with the version and \
         the settings it was recorded with", .path.display()
    )]
    NotRecorded { id: ConversationId, path: PathBuf },
    #[error("a conversation must begin and end with the user's turn; this one does not")]
    Unaskable,
}

impl Fault {
    /// As the error of `provider`'s first call.
    pub(super) fn of(self, provider: &dyn Provider) -> ProviderError {
        ProviderError {
            provider: provider.name().to_owned(),
            model: provider.model().to_owned(),
            attempts: 1,
            fault: self,
            usage: None,
        }
    }

    /// Whether the same question may be answered a moment later.
    ///
    /// A call that ran out of time is not among them: it would probably do so again, and be paid
    /// for twice.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Connection { .. })
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// What a server said instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Status of the response; 200 if the error was in the body only.
    pub status: u16,
    /// Its own name for the error, for example `overloaded_error`.
    pub kind: Option<String>,
    pub message: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)?;
        if let Some(kind) = &self.kind {
            write!(f, ", {kind}")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

fn after(attempts: u32) -> String {
    if attempts > 1 { format!(" (asked {attempts} times)") } else { String::new() }
}

fn asked(retry_after: Option<Duration>) -> String {
    let wait = retry_after.map(humantime::format_duration);
    wait.map(|wait| format!(" and asks to wait {wait}")).unwrap_or_default()
}

fn printed(stderr: &str) -> String {
    if stderr.is_empty() { "it printed no error".into() } else { format!("it printed:\n{stderr}") }
}
