//! What is told: which pull request, what came of each kernel, how it was delivered.

use serde::{Deserialize, Serialize};

use crate::report::{Report, clean, format};

/// Which pull request, at which commit, for whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PullRequestFacts {
    /// `owner/name`.
    pub repository: String,
    pub number: u64,
    /// The commit that was measured, 40 hexadecimal digits.
    pub head_sha: String,
    pub job: String,
    /// Login of whoever asked for it.
    pub requested_by: String,
    /// Where the check run's details are.
    pub details: Option<String>,
    /// Whether the head is in another repository: nothing can be committed there.
    pub fork: bool,
}

/// What came of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelResult {
    /// As `kernelbrain.toml` names it.
    pub name: String,
    /// Path in the repository.
    pub source: String,
    /// `None` where the run ended without one.
    pub report: Option<Report>,
    /// Why there is no report, and what to do about it.
    pub failure: Option<String>,
    /// The repository's own tests, passed by the winner; `None` where the kernel names none.
    pub tests: Option<TestsPassed>,
    /// What must be known besides, a sentence each: that the contract is the one of the base branch, …
    pub notes: Vec<String>,
}

/// The repository's own tests, run with the winner in place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestsPassed {
    pub command: String,
    pub seconds: Option<f64>,
}

/// How a verified kernel reaches the pull request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    /// A review with suggestions.
    Suggestion {
        #[serde(default)]
        url: Option<String>,
    },
    /// A branch of the same repository, with a pull request into the branch of this one.
    Branch {
        branch: String,
        #[serde(default)]
        pull: Option<u64>,
        #[serde(default)]
        url: Option<String>,
    },
    /// A commit on the pull request's own branch, as somebody commanded.
    Commit { sha: String },
    /// A unified diff, in the comment itself.
    Patch(String),
    #[default]
    Nothing,
}

impl PullRequestFacts {
    pub(super) fn cleaned(&self) -> Self {
        let mut facts = self.clone();
        for field in [&mut facts.repository, &mut facts.head_sha, &mut facts.job] {
            *field = clean::text(field);
        }
        facts.requested_by = clean::text(&facts.requested_by);
        facts
    }
}

/// The results with every text harmless to look at; sources and patches stay, byte for byte.
pub(super) fn cleaned(results: &[(KernelResult, Delivered)]) -> Vec<(KernelResult, Delivered)> {
    let clean =
        |(result, delivered): &(KernelResult, Delivered)| (result.cleaned(), delivered.cleaned());
    results.iter().map(clean).collect()
}

impl KernelResult {
    pub(super) fn cleaned(&self) -> Self {
        let report = self.report.as_ref().map(|report| {
            let mut report = clean::clean(report);
            // It is in every verdict.
            report.target.name = format::shorten(&report.target.name, 80);
            report
        });
        Self {
            name: clean::text(&self.name),
            source: clean::text(&self.source),
            report,
            failure: self.failure.as_deref().map(clean::text),
            tests: self.tests.as_ref().map(|tests| TestsPassed {
                command: clean::text(&tests.command),
                seconds: tests.seconds,
            }),
            notes: self.notes.iter().map(|note| clean::text(note)).collect(),
        }
    }
}

impl Delivered {
    fn cleaned(&self) -> Self {
        let mut delivered = self.clone();
        match &mut delivered {
            Self::Branch { branch, .. } => *branch = clean::text(branch),
            Self::Commit { sha } => *sha = clean::text(sha),
            Self::Suggestion { .. } | Self::Patch(_) | Self::Nothing => {}
        }
        delivered
    }
}
