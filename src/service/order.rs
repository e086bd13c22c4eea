//! What a job is to do and what came of it, as they are kept with it (JSON).

use serde::{Deserialize, Serialize};

use crate::{report::Report, store::service::Job};

/// What a job is to do: fixed when it is approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub kernels: Vec<KernelOrder>,
    /// A person asked by a command and gets an answer whatever comes of it.
    pub asked: bool,
    /// Branch of the pull request's head, and the repository it lies in where that is another.
    pub head_ref: String,
    pub fork: Option<Fork>,
}

/// The repository a pull request comes from, where it is not the one it goes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// `None` for a repository that was deleted.
    pub repository: Option<String>,
}

/// One kernel of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelOrder {
    /// As `kernelbrain.toml` calls it.
    pub name: String,
    /// Path of its source in the repository.
    pub source: String,
    /// Which commit's `kernelbrain.toml` it is read from.
    pub configured_by: Side,
    /// To be said with the result.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One end of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Base,
    Head,
}

/// What came of a job's kernels, in the order's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub kernels: Vec<KernelOutcome>,
}

/// What came of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelOutcome {
    pub name: String,
    pub source: String,
    #[serde(default)]
    pub notes: Vec<String>,
    /// `None` where the search could not be carried out.
    pub report: Option<Box<Report>>,
    /// Why not, or what was wrong besides.
    pub failure: Option<String>,
    /// The verified kernel, the whole file, by the hash of its text; `None` unless improved.
    pub verified: Option<String>,
    /// The file as it stood at the approved commit, by the hash of its text.
    pub baseline: Option<String>,
    /// The repository's own tests, which passed on the verified kernel.
    #[serde(default)]
    pub tests: Option<String>,
}

impl Results {
    /// Kernels with something to deliver.
    pub fn verified(&self) -> impl Iterator<Item = &KernelOutcome> {
        self.kernels.iter().filter(|kernel| kernel.verified.is_some())
    }
}

/// How the verified kernels of a job reached the pull request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub kernels: Vec<Delivered>,
}

/// How one kernel was delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Delivered {
    /// Suggested changes of a review.
    Suggestion { url: Option<String> },
    /// A branch of the repository, and a pull request from it into the pull request's branch.
    Branch { branch: String, pull: Option<u64>, url: Option<String>, instead: String },
    /// In the comment, to be applied by hand.
    Patch { instead: String },
    /// There was nothing to deliver.
    Nothing,
}

/// A job's record holds something that this program did not write.
#[derive(Debug, thiserror::Error)]
#[error("the {what} kept with job {job} cannot be read: {source}")]
pub struct KeptError {
    what: &'static str,
    job: String,
    source: serde_json::Error,
}

/// The order of a job.
pub fn order_of(job: &Job) -> Result<Order, KeptError> {
    serde_json::from_value(job.new.order.clone()).map_err(|source| KeptError {
        what: "order",
        job: job.new.id.to_string(),
        source,
    })
}

/// The results of a job that was measured.
pub fn results_of(job: &Job) -> Result<Results, KeptError> {
    serde_json::from_value(job.result.clone()).map_err(|source| KeptError {
        what: "result",
        job: job.new.id.to_string(),
        source,
    })
}
