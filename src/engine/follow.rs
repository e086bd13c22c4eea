//! Looking on at a run that another process drives, and putting a copy of one where a process can go on
//! with it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use super::{begin::fold, error::EngineError, reporting};
use crate::{
    report::{
        Report,
        pull_request::{KernelProgress, Phase, RungProgress},
    },
    search::{Event, Outcome, State},
    store::{NewRun, RunRecord, RunStore, SqliteOptions, SqliteStore, StoreError},
};

/// Longest that the look at a run waits for whoever drives it.
const BUSY: Duration = Duration::from_secs(5);

/// Looks on at the run of one output folder.
#[derive(Debug)]
pub struct Follower {
    store: SqliteStore,
    output: PathBuf,
    run: Option<String>,
}

/// A run as it stood a moment ago.
#[derive(Clone, Debug)]
pub struct Sight {
    pub record: RunRecord,
    /// Its whole journal.
    pub events: Vec<Event>,
    state: State,
}

impl Follower {
    /// Of the newest run in `database` whose results go to `output`.
    pub async fn open(database: &Path, output: &Path) -> Result<Self, EngineError> {
        let options = SqliteOptions { busy_timeout: BUSY, ..SqliteOptions::default() };
        let store = SqliteStore::open_with(database, options).await?;
        Ok(Self { store, output: output.to_owned(), run: None })
    }

    /// The run as it stands; `None` before it has begun.
    pub async fn look(&mut self) -> Result<Option<Sight>, EngineError> {
        if self.run.is_none() {
            let runs = self.store.list().await?;
            let ours = runs.into_iter().find(|run| run.output == self.output);
            self.run = ours.map(|run| run.id);
        }
        let Some(run) = &self.run else { return Ok(None) };
        let (record, events) = self.store.load(run).await?;
        let (_, state) = fold(&record, &events)?;
        Ok(Some(Sight { record, events, state }))
    }

    /// Puts a copy of a run, whose files lay below `root` where it was made, into the database, with them
    /// below `here`: a process that is told to resume it goes on. Where the run is known and further than
    /// the copy, nothing is done; where another host went on with it meanwhile, the copy takes its place.
    pub async fn restore(
        &mut self,
        record: &RunRecord,
        events: &[Event],
        root: &str,
        here: &str,
    ) -> Result<(), EngineError> {
        self.run = Some(record.id.clone());
        let move_path = |path: &Path| moved(&path.to_string_lossy(), root, here).into();
        let mut target = serde_json::to_value(&record.target).unwrap_or_default();
        move_paths(&mut target, root, here);
        let mut plan = record.plan.clone();
        move_paths(&mut plan, root, here);
        let damaged = |error: serde_json::Error| {
            EngineError::Environment(format!("the copy of run {} is damaged: {error}", record.id))
        };
        let new = NewRun {
            id: record.id.clone(),
            key: record.key.clone(),
            output: move_path(&record.output),
            target: serde_json::from_value(target).map_err(damaged)?,
            plan,
            created: record.created,
        };
        match self.store.create_run(&new).await {
            Ok(()) => {}
            Err(StoreError::RunExists { .. }) => {
                if self.store.load(&record.id).await?.1.starts_with(events) {
                    return Ok(());
                }
                self.store.forget_run(&record.id).await?;
                self.store.create_run(&new).await?;
            }
            Err(error) => return Err(error.into()),
        }
        if let Some(environment) = &record.environment {
            self.store.set_environment(&record.id, environment).await?;
        }
        self.store.append(&record.id, events).await?;
        Ok(())
    }
}

impl Sight {
    /// How far it is, for people.
    pub fn progress(&self, name: &str) -> KernelProgress {
        let state = &self.state;
        let rungs = state.tallies().enumerate().map(|(index, tally)| RungProgress {
            index,
            entered: tally.entered,
            rejected: tally.rejected,
            measured: tally.measured,
            promoted: tally.promoted,
        });
        let phase = match state.outcome() {
            Some(Outcome::Parked { .. } | Outcome::Failed { .. }) => Phase::Failed,
            Some(_) => Phase::Done,
            None if state.baseline_evaluation().is_none() => Phase::Baseline,
            None if !state.verifications().is_empty() => Phase::Verifying,
            None => Phase::Searching,
        };
        KernelProgress {
            name: name.to_owned(),
            phase,
            rungs: rungs.collect(),
            candidates: state.records().iter().filter(|it| !it.evaluations().is_empty()).count(),
            best_speedup: state.trajectory().last().map(|step| step.speedup),
            budget_left_seconds: state.remaining().wall_seconds,
            budget_seconds: state.plan().limits.wall_seconds,
        }
    }

    /// Events up to now; what was copied before is not copied again.
    pub fn length(&self) -> u64 {
        self.events.len() as u64
    }

    /// Whether another rung was reached, something was verified or it ended, since `earlier`: moments
    /// worth a copy.
    pub fn is_further_than(&self, earlier: &Self) -> bool {
        let reached = |sight: &Self| {
            let tallies = sight.state.tallies().map(|tally| tally.entered > 0);
            let rungs = tallies.filter(|entered| *entered).count();
            (rungs, sight.state.verifications().len(), sight.state.outcome().is_some())
        };
        reached(self) != reached(earlier)
    }

    /// The report of the run as it stands.
    pub fn report(&self) -> Result<Report, EngineError> {
        let (plan, state) = fold(&self.record, &self.events)?;
        Ok(reporting::report(&self.record, &plan, &state))
    }

    pub fn has_ended(&self) -> bool {
        self.state.outcome().is_some()
    }

    /// When it was begun.
    pub fn begun(&self) -> SystemTime {
        self.record.created
    }
}

/// `path` with `root` at its beginning replaced by `here`.
fn moved(path: &str, root: &str, here: &str) -> String {
    match path.strip_prefix(root) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{here}{rest}"),
        _ => path.to_owned(),
    }
}

/// Moves every path in a JSON value that lies below `root`.
fn move_paths(value: &mut Value, root: &str, here: &str) {
    match value {
        Value::String(text) => *text = moved(text, root, here),
        Value::Array(items) => items.iter_mut().for_each(|item| move_paths(item, root, here)),
        Value::Object(fields) => fields.values_mut().for_each(|it| move_paths(it, root, here)),
        _ => {}
    }
}
