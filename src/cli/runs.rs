//! `kernelbrain runs`.

use std::path::PathBuf;

use super::{
    CommandResult,
    common::{block_on, printable},
};
use crate::engine::{exit, list_runs};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Database of runs [default: in the user's data folder]
    #[arg(long, value_name = "FILE", env = "KERNELBRAIN_DB")]
    db: Option<PathBuf>,
}

pub(super) fn run(options: Options) -> CommandResult {
    let runs = block_on(list_runs(options.db))?;
    if runs.is_empty() {
        outln!("no runs yet");
    }
    if let Some(longest) = runs.iter().map(|run| run.id.chars().count()).max() {
        outln!("{:<longest$}  {:<14}  {:<20}  output (device)", "run", "state", "started");
        for run in &runs {
            let line = format!(
                "{:<longest$}  {:<14}  {}  {} ({})",
                run.id,
                run.state,
                run.started,
                run.output.display(),
                run.device
            );
            outln!("{}", printable(&line).replace('\n', " "));
        }
    }
    Ok(exit::FINISHED)
}
