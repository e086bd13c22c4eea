//! A program that answers: the prompt on its standard input, the answer on its standard output.
//!
//! Any installed agent CLI serves. It runs where kernelbrain runs, with the user's rights and
//! environment, but without the keys that are meant for kernelbrain. It is not confined: a prompt
//! contains the source of a repository, so an agent that is not to act on what stands in there has
//! to be started without tools. It counts no tokens that we could read, so they are estimated.

use async_trait::async_trait;
use tokio::process;

use super::{
    Answer, Counted, Limits, Provider, ProviderError, Reply, Stop, chat,
    error::Fault,
    excerpt::excerpt,
    process_group::{Output, ProcessGroup},
    setup::KEY_VARIABLES,
    usage,
};
use crate::generate::conversation::Conversation;

/// Lines of standard error in an error message.
const LINES: usize = 6;

/// A command line. Its arguments are not shown anywhere: they are a place where people put keys.
pub(super) struct Program {
    program: String,
    arguments: Vec<String>,
    model: String,
    limits: Limits,
}

impl Program {
    pub(super) fn new(program: &str, arguments: &[String], limits: &Limits) -> Self {
        Self {
            program: program.to_owned(),
            arguments: arguments.to_vec(),
            model: program_name(program),
            limits: limits.clone(),
        }
    }

    fn command(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command.args(&self.arguments);
        let ours = |name: &str| KEY_VARIABLES.contains(&name) || name.starts_with("KERNELBRAIN_");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(ours) {
                command.env_remove(name);
            }
        }
        command
    }

    async fn exchange(&self, conversation: &Conversation) -> Result<Reply, Fault> {
        chat::check(conversation)?;
        let start = |source| Fault::Start { program: self.model.clone(), source };
        let mut group = ProcessGroup::start(self.command()).map_err(start)?;
        let prompt = conversation.to_markdown();
        let limit = self.limits.time_out;
        let talk = group.converse(prompt.as_bytes(), self.limits.answer_bytes);
        let output = match tokio::time::timeout(limit, talk).await {
            Err(_) => return Err(Fault::TimedOut { limit }),
            Ok(output) => output.map_err(start)?,
        };
        let text = self.text(output)?;
        let usage = usage::estimate(conversation, &text);
        let (counted, stop) = (Counted::Estimated, Stop::Finished);
        Ok(Reply::Answer(Answer { text, usage, counted, stop }))
    }

    fn text(&self, output: Output) -> Result<String, Fault> {
        let from = || format!("the output of {}", self.model);
        let Some(status) = output.status else {
            return Err(Fault::TooLong { from: from(), limit: self.limits.answer_bytes });
        };
        if !status.success() {
            let (program, status) = (self.model.clone(), status.to_string());
            return Err(Fault::Command { program, status, stderr: last_lines(&output.stderr) });
        }
        let text = String::from_utf8(output.stdout).map_err(|error| Fault::NotUtf8 {
            from: from(),
            at: error.utf8_error().valid_up_to(),
        })?;
        if text.trim().is_empty() { Err(Fault::Empty { from: from() }) } else { Ok(text) }
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("program", &self.model).finish_non_exhaustive()
    }
}

/// The last part of a program's path.
pub(super) fn program_name(program: &str) -> String {
    let name = std::path::Path::new(program).file_name();
    name.map_or_else(|| program.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn last_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<String> = text.lines().map(excerpt).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[async_trait]
impl Provider for Program {
    fn name(&self) -> &str {
        "command"
    }

    fn model(&self) -> &str {
        &self.model
    }

    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError> {
        self.exchange(conversation).await.map_err(|fault| fault.of(self))
    }
}
