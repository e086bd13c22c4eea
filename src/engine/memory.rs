//! Experience as people look after it: listed, passed on, forgotten.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{error::EngineError, experience::experience, session::with_database};
use crate::{
    generate::task::Standing,
    kernel::{Failure, Observation},
    store::{ExperienceFilter, ExperienceStore, SqliteStore, from_json_lines, to_json_lines},
};

/// What is known of a move on a kind of kernel and of GPU, under every version of Triton.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MoveMemory {
    /// Name of an expert task, or `recipe` and the verbs of a recipe.
    #[serde(rename = "move")]
    pub step: String,
    /// Fingerprint of the operator.
    pub operator: String,
    pub arch: String,
    pub tries: u32,
    pub successes: u32,
    /// Of the successes: the parent's time over the candidate's.
    pub median_gain: Option<f64>,
    pub standing: Standing,
    pub last_failure: Option<Failure>,
    /// Runs that tried it.
    pub runs: usize,
    /// Versions of Triton under which it was tried.
    pub triton: BTreeSet<String>,
}

/// What is known of every move that is meant: by operator and architecture, and of each the moves to
/// use before the others, the largest gain first.
pub async fn list_memory(
    database: Option<PathBuf>,
    filter: &ExperienceFilter,
) -> Result<Vec<MoveMemory>, EngineError> {
    let observations = listed(database, filter).await?;
    let known = experience(&observations, None);
    // The oldest first, as the store lists them.
    let mut seen: BTreeMap<(String, &str, &str), Vec<&Observation>> = BTreeMap::new();
    for it in &observations {
        seen.entry((it.step(), &it.operator, &it.arch)).or_default().push(it);
    }
    let summary = |((step, operator, arch), seen): ((String, &str, &str), Vec<&Observation>)| {
        let tally = known.of(&step, operator, arch)?;
        Some(MoveMemory {
            step,
            operator: operator.to_owned(),
            arch: arch.to_owned(),
            tries: tally.tries,
            successes: tally.successes,
            median_gain: tally.median_gain,
            standing: tally.standing(),
            last_failure: seen.iter().rev().find_map(|it| it.failure.clone()),
            runs: seen.iter().map(|it| &it.run).collect::<BTreeSet<_>>().len(),
            triton: seen.iter().map(|it| it.triton.clone()).collect(),
        })
    };
    let mut moves: Vec<MoveMemory> = seen.into_iter().filter_map(summary).collect();
    let rank = |it: &MoveMemory| match it.standing {
        Standing::Use => 0,
        Standing::Open => 1,
        Standing::Avoid => 2,
    };
    let gain = |it: &MoveMemory| it.median_gain.unwrap_or(0.0);
    moves.sort_by(|a, b| {
        (&a.operator, &a.arch, rank(a))
            .cmp(&(&b.operator, &b.arch, rank(b)))
            .then(gain(b).total_cmp(&gain(a)))
            .then(b.tries.cmp(&a.tries))
            .then_with(|| a.step.cmp(&b.step))
    });
    Ok(moves)
}

/// The observations that are meant as JSON lines, and how many they are.
pub async fn export_memory(
    database: Option<PathBuf>,
    filter: &ExperienceFilter,
) -> Result<(String, usize), EngineError> {
    let observations = listed(database, filter).await?;
    Ok((to_json_lines(&observations), observations.len()))
}

/// What an import came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    pub read: usize,
    /// Of candidates that were not known before.
    pub new: u64,
}

/// Bytes that are read of a file: half a million observations.
const LARGEST_FILE: u64 = 256 << 20;

/// Takes over the observations of a file of JSON lines, all or none.
pub async fn import_memory(
    database: Option<PathBuf>,
    file: &Path,
) -> Result<Imported, EngineError> {
    let unreadable = |source| EngineError::Read { path: file.to_owned(), source };
    let mut text = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened.take(LARGEST_FILE + 1).read_to_end(&mut text).map_err(unreadable)?;
    let usage = |why: String| {
        EngineError::Usage(format!("{}, {why}; nothing was imported", file.display()))
    };
    if text.len() as u64 > LARGEST_FILE {
        let most = LARGEST_FILE >> 20;
        return Err(usage(format!("more than {most} MiB: split it at the ends of lines")));
    }
    let observations = from_json_lines(&text).map_err(|bad| usage(bad.to_string()))?;
    let record = async |store: &SqliteStore| Ok(store.record_experience(&observations).await?);
    let new = with_database(database, record).await?;
    Ok(Imported { read: observations.len(), new })
}

/// Forgets the observations that are meant, and says how many.
pub async fn forget_memory(
    database: Option<PathBuf>,
    filter: &ExperienceFilter,
) -> Result<u64, EngineError> {
    with_database(database, async |store| Ok(store.forget_experience(filter).await?)).await
}

async fn listed(
    database: Option<PathBuf>,
    filter: &ExperienceFilter,
) -> Result<Vec<Observation>, EngineError> {
    with_database(database, async |store| Ok(store.list_experience(filter).await?)).await
}
