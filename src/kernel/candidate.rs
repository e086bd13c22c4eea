//! A candidate is one version of the target's source.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Identity of a candidate: the first 16 hexadecimal digits of the SHA-256 of its source.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CandidateId(Arc<str>);

impl CandidateId {
    /// The identity of `source`.
    pub fn of(source: &str) -> Self {
        let digest = Sha256::digest(source.as_bytes());
        let hex: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Self(hex.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form people read: the first eight digits.
    pub fn short(&self) -> &str {
        &self.0[..self.0.len().min(8)]
    }
}

impl fmt::Display for CandidateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CandidateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a candidate came from its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Move {
    /// The source as it stood.
    Baseline,
    /// A short list of source edits in the recipe language, for example `tile BLOCK=512; warps 8`.
    Recipe { text: String },
    /// A language model's answer to an expert task.
    Rewrite {
        task: String,
        /// How many times it was sent back since a gate had rejected it.
        #[serde(default)]
        repairs: u32,
    },
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baseline => f.write_str("baseline"),
            Self::Recipe { text } => f.write_str(text),
            Self::Rewrite { task, repairs: 0 } => write!(f, "rewrite: {task}"),
            Self::Rewrite { task, repairs: 1 } => write!(f, "rewrite: {task}, repaired"),
            Self::Rewrite { task, repairs } => {
                write!(f, "rewrite: {task}, repaired {repairs} times")
            }
        }
    }
}

/// One version of the target's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub id: CandidateId,
    /// `None` for the baseline only.
    pub parent: Option<CandidateId>,
    /// How it came from its parent.
    #[serde(rename = "move")]
    pub origin: Move,
    /// The whole text of the target's source file.
    pub source: Arc<str>,
}

impl Candidate {
    /// The source as it stood.
    pub fn baseline(source: impl Into<Arc<str>>) -> Self {
        let source = source.into();
        Self { id: CandidateId::of(&source), parent: None, origin: Move::Baseline, source }
    }

    /// A candidate made from `parent` by `origin`.
    pub fn child(parent: &CandidateId, origin: Move, source: impl Into<Arc<str>>) -> Self {
        let source = source.into();
        Self { id: CandidateId::of(&source), parent: Some(parent.clone()), origin, source }
    }
}
