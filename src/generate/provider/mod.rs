//! Providers of answers: a [`Conversation`] in, an [`Answer`] with its token usage out.
//!
//! A [`ProviderSpec`] names one, [`ProviderSpec::open`] makes it:
//!
//! | provider | who answers |
//! | --- | --- |
//! | `anthropic:MODEL` | Anthropic's Messages API |
//! | `openai:MODEL`, `openai:MODEL@URL` | OpenAI, or any server that speaks its chat completions |
//! | `command:PROGRAM …` | a program: prompt on its standard input, answer on its standard output |
//! | `folder:PATH` | somebody outside, at some time: prompts and answers are files |
//! | `replay:FILE` | what a [`Recorder`] has recorded |
//!
//! # What is promised
//!
//! - **Bounds.** A call ends within its time, and no more of an answer than [`Limits`] allow is
//!   ever in memory, whatever the other side sends.
//! - **Repetition** only where a call may succeed a moment later: a server that is overloaded or
//!   out of order (429, 5xx, Anthropic's 529), a connection that failed. `retry-after` is obeyed.
//!   A call that ran out of time is not repeated: it may have been paid for.
//! - **Errors** name the provider, the model, what happened and what to do.
//! - **Keys** come from the environment or from a private file, are sent to the one address they
//!   are meant for (redirections are not followed, plain HTTP stays on this machine), are not
//!   passed on to programs, and are cut out of everything that a server says before anyone sees it.
//! - **Numbers** of a server are believed as far as they can be true; [`Counted`] tells.
//! - **Text** of an answer is untrusted. That it is UTF-8 is all that is known of it.
//!
//! # Why there is no multi-provider crate below this
//!
//! `genai` (0.7) is the one that is maintained and covers most. It was not taken because what
//! this module promises lies below its surface: it reads bodies whole, without a bound; it neither
//! repeats calls nor reads `retry-after`; it keeps bodies of errors verbatim in its error values
//! and writes bodies to its trace log, where a key that a server echoes would stand; it refuses
//! an answer without a JSON content type, which some gateways send. What it would save is a
//! hundred lines for each of two request formats; it brings thirty-six thousand, for two dozen
//! services. `reqwest` over `rustls` needs no OpenSSL and leaves each of these decisions here.

mod answer;
mod anthropic;
mod base_url;
mod chat;
mod command;
mod endpoint;
mod error;
mod excerpt;
mod folder;
mod key;
mod limited;
mod limits;
mod openai;
pub mod price;
mod process_group;
mod record;
mod recorder;
mod replay;
mod server_error;
mod setup;
mod spec;
mod tokens;
mod usage;

use std::fmt;

use async_trait::async_trait;

pub use answer::{Answer, Counted, Reply, Stop};
pub use error::{Fault, ProviderError, Said};
pub use key::KeyError;
pub use limits::Limits;
pub use record::RecordError;
pub use recorder::Recorder;
pub use setup::{Setup, SetupError};
pub use spec::ProviderSpec;

use crate::generate::conversation::Conversation;

/// Somebody who answers.
#[async_trait]
pub trait Provider: fmt::Debug + Send + Sync {
    /// The kind of provider, as it stands in a [`ProviderSpec`].
    fn name(&self) -> &str;

    /// Who answers behind it: a model, a program, a path.
    fn model(&self) -> &str;

    /// Asks for an answer to `conversation`, whose first and last turns are the user's.
    ///
    /// Dropping the future gives the question up; a program that was started for it is ended.
    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError>;

    /// What whoever answers should know: files that look like answers and are taken for none.
    async fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
