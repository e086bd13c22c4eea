//! From a run's state to experience, and from experience to what the next run is told.
//!
//! Two layers of memory keep the model from going back to what failed: within a run, its history
//! (search's attempts, the lineage of a prompt); across runs, this one. They do not overlap: what a
//! run remembers of itself is not recalled by it.

mod observing;
mod tallying;

pub use observing::observations;
pub use tallying::experience;

use std::time::SystemTime;

use super::error::EngineError;
use crate::{
    evaluate::Device,
    generate::{
        recipe::Context,
        task::{Experience, fingerprint},
    },
    kernel::{Arch, arch_name, syntax::Source},
    report::cleaned,
    search::State,
    store::{ExperienceFilter, ExperienceStore},
};

/// What the experience of one run holds for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    pub run: String,
    /// Name of the target.
    pub target: String,
    /// Fingerprint of the operator.
    pub operator: String,
    /// As [`arch_name`] has it.
    pub arch: String,
    /// Version of Triton.
    pub triton: String,
}

impl Circumstances {
    /// Of `run` on `target`, whose baseline is `text` and whose contract compares `gradients`;
    /// `context` is the recipes'. `None` for a text that is no Python: no run gets so far with one.
    pub fn new(
        run: &str,
        target: &str,
        text: &str,
        context: &Context,
        gradients: bool,
        device: Device,
        triton: &str,
    ) -> Option<Self> {
        let arch = match device {
            Device::Cpu => None,
            Device::Cuda { capability: (major, minor), .. } => Some(Arch { major, minor }),
        };
        let source = Source::parse(text).ok()?;
        Some(Self {
            run: run.to_owned(),
            target: one_line(target, TARGET),
            operator: fingerprint(&source, context, gradients),
            arch: arch_name(arch),
            triton: triton.to_owned(),
        })
    }
}

/// Keeps what a run has shown, however it ended; says how many candidates that were not known. A run
/// that goes on may be remembered again: what it has learnt by then replaces what it knew before.
pub async fn remember(
    store: &dyn ExperienceStore,
    circumstances: &Circumstances,
    state: &State,
) -> Result<u64, EngineError> {
    let observations = observations(circumstances, state, SystemTime::now());
    Ok(store.record_experience(&observations).await?)
}

/// What other runs have shown on such kernels and GPUs.
pub async fn recall(
    store: &dyn ExperienceStore,
    circumstances: &Circumstances,
) -> Result<Experience, EngineError> {
    let filter = ExperienceFilter {
        operator: Some(circumstances.operator.clone()),
        arch: Some(circumstances.arch.clone()),
        ..ExperienceFilter::default()
    };
    let mut observations = store.list_experience(&filter).await?;
    observations.retain(|it| it.run != circumstances.run);
    Ok(experience(&observations, Some(&circumstances.triton)))
}

/// Characters kept of a target's name.
const TARGET: usize = 80;

/// `text`, which may come from a candidate, as one clean line of at most `most` characters.
fn one_line(text: &str, most: usize) -> String {
    let line = cleaned(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some(_) => line.chars().take(most - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests;
