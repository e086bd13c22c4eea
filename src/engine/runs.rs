//! Runs of the past: their list, and their reports once more.

use std::path::{Path, PathBuf};

use super::{
    begin::fold, error::EngineError, optimize::outcome_name, reporting, session::with_database,
};
use crate::{
    report::{self, Report},
    store::{RunState, RunStore},
};

/// A line of `kernelbrain runs`.
#[derive(Clone, Debug)]
pub struct RunLine {
    pub id: String,
    pub target: String,
    pub device: String,
    /// RFC 3339, UTC.
    pub started: String,
    pub state: String,
    pub output: PathBuf,
}

/// All runs of a database, the newest first.
pub async fn list_runs(database: Option<PathBuf>) -> Result<Vec<RunLine>, EngineError> {
    let runs = with_database(database, async |store| Ok(store.list().await?)).await?;
    let line = |run: crate::store::RunSummary| RunLine {
        id: run.id,
        target: run.target,
        device: run.device.unwrap_or_default(),
        started: reporting::timestamp(run.created),
        state: match (run.state, &run.outcome) {
            (RunState::Open, _) => "open".to_owned(),
            (_, Some(outcome)) => outcome_name(outcome).to_owned(),
            (RunState::Parked, None) => "parked".to_owned(),
            (RunState::Ended, None) => "ended".to_owned(),
        },
        output: run.output,
    };
    Ok(runs.into_iter().map(line).collect())
}

/// The report of a run, from what the database holds.
pub async fn rebuild_report(
    run: &str,
    database: Option<PathBuf>,
) -> Result<(Report, PathBuf), EngineError> {
    let (record, events) =
        with_database(database, async |store| Ok(store.load(run).await?)).await?;
    let (plan, state) = fold(&record, &events)?;
    Ok((reporting::report(&record, &plan, &state), record.output))
}

/// Writes a report's files into `folder`; returns the path of the one for people.
pub fn rewrite_report(report: &Report, folder: &Path) -> Result<PathBuf, EngineError> {
    std::fs::create_dir_all(folder)
        .map_err(|source| EngineError::Write { path: folder.to_owned(), source })?;
    report::write(report, folder)?;
    Ok(folder.join(report::HTML))
}
