//! `kernelbrain doctor`: what is there, what is missing, and what to do about it.

use std::path::PathBuf;

use super::{
    CommandResult,
    common::{block_on, terminal_style},
};
use crate::{
    engine::{
        EngineError, database_path,
        doctor::{self, Host, SandboxAbilities},
        exit, machine,
    },
    evaluate::sandbox,
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Import torch and triton and run a kernel on each device, which takes seconds
    #[arg(long)]
    deep: bool,
    /// Python with torch and triton
    #[arg(long, env = machine::PYTHON_VARIABLE, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Database of runs [default: in the user's data folder]
    #[arg(long, value_name = "FILE", env = "KERNELBRAIN_DB")]
    db: Option<PathBuf>,
}

pub(super) fn run(options: Options) -> CommandResult {
    let named = machine::named_python(options.python);
    let python = match machine::find_python(named.as_deref()) {
        Ok(interpreter) => interpreter.executable,
        // The examination says what is wrong with it.
        Err(_) => named.unwrap_or_else(|| "python3".into()),
    };
    let abilities = sandbox::abilities();
    let abilities =
        SandboxAbilities { landlock: abilities.landlock_abi, missing: abilities.missing };
    let database = database_path(options.db)?;
    let database = std::path::absolute(&database)
        .map_err(|source| EngineError::Read { path: database.clone(), source })?;
    let host = Host::here(&python, &database, abilities);
    let diagnosis = block_on(async {
        let mut diagnosis = doctor::examine(&host).await;
        if options.deep {
            diagnosis.checks.extend(doctor::try_out(&python, host.gpus.is_ok()).await);
        }
        Ok(diagnosis)
    })?;
    out!("{}", doctor::render(&diagnosis, terminal_style().colour));
    Ok(if diagnosis.can_run() { exit::FINISHED } else { exit::ENVIRONMENT })
}
