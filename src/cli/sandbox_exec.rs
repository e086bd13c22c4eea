//! `kernelbrain sandbox-exec POLICY -- PROGRAM ARGUMENTS…`: how this binary starts the processes
//! of the evaluation plane.

use std::{ffi::OsString, path::PathBuf};

use rustix::process::{Signal, set_parent_process_death_signal};

use super::CommandResult;
use crate::{engine::EngineError, evaluate::sandbox};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The policy, a JSON file
    policy: PathBuf,
    /// Be killed when the parent ends
    #[arg(long)]
    die_with_parent: bool,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

pub(super) fn run(options: Options) -> CommandResult {
    let environment = |text: String| EngineError::Environment(text);
    let text = std::fs::read(&options.policy)
        .map_err(|source| EngineError::Read { path: options.policy.clone(), source })?;
    let policy: sandbox::Policy = serde_json::from_slice(&text)
        .map_err(|error| EngineError::Usage(format!("{}: {error}", options.policy.display())))?;
    if options.die_with_parent {
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| environment(format!("cannot tie a process to its parent: {error}")))?;
        if rustix::process::getppid().is_none_or(rustix::process::Pid::is_init) {
            return Err(environment("the parent has ended".into()));
        }
    }
    Err(environment(sandbox::exec(&policy, &options.program).to_string()))
}
