//! What is owed to GitHub, as the outbox keeps it. The dispatcher performs it; nothing in here needs to
//! know how.

use serde::{Deserialize, Serialize};

use super::key::Key;
use crate::store::service::{JobId, Millis, NewEffect, PullKey};

/// Where an effect takes place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub pull: PullKey,
    /// `owner/name`
    pub repository: String,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Task {
    /// A check run is to look like this.
    Check(CheckState),
    /// Deliver the verified kernels of a job: suggestions, branch or patch.
    Publish {
        job: JobId,
    },
    /// The one comment with a job's results is to say what came of it.
    Result {
        job: JobId,
        delivery: super::order::Delivery,
    },
    /// A comment, as it stands.
    Comment {
        body: String,
    },
    ReactToComment {
        comment: u64,
        reaction: Reaction,
    },
    ReactToPull {
        reaction: Reaction,
    },
    RemoveLabel {
        label: String,
    },
    /// Fold away results of other heads than this.
    Outdate {
        sha: String,
    },
    /// Put the verified kernels of a job on the pull request's branch.
    Commit {
        job: JobId,
        comment: u64,
        by: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    Eyes,
    Rocket,
    Confused,
}

/// A check run as it is to look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckState {
    pub sha: String,
    pub job: JobId,
    pub stage: CheckStage,
    pub title: String,
    pub summary: String,
    #[serde(default)]
    pub text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStage {
    Queued,
    InProgress,
    Success,
    Neutral,
    Failure,
    Cancelled,
}

impl CheckStage {
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::InProgress)
    }
}

/// How urgent effects are: people wait for results, progress can be dropped when quota is short.
mod priority {
    pub(super) const RESULT: u8 = 0;
    pub(super) const COURTESY: u8 = 1;
    pub(super) const PROGRESS: u8 = 2;
}

/// An effect's body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    pub place: Place,
    pub task: Task,
}

/// Whether it only shows how far something is: what comes next says more.
pub fn is_progress(effect: &NewEffect) -> bool {
    effect.priority == priority::PROGRESS
}

/// An effect to be kept.
pub fn new(key: &Key, place: &Place, task: Task, due: Millis) -> NewEffect {
    let priority = match &task {
        Task::Check(state) if !state.stage.is_over() => priority::PROGRESS,
        Task::ReactToComment { .. }
        | Task::ReactToPull { .. }
        | Task::RemoveLabel { .. }
        | Task::Outdate { .. } => priority::COURTESY,
        _ => priority::RESULT,
    };
    // Whatever shows a state shows the newest; what is said is said once.
    let replaces = matches!(task, Task::Check(_) | Task::Result { .. });
    let body = Body { place: place.clone(), task };
    NewEffect {
        key: key.to_string(),
        installation: place.pull.installation,
        priority,
        replaces,
        due,
        body: serde_json::to_value(body).unwrap_or_default(),
    }
}
