//! Why the engine could not do what it was asked, sorted by who can mend it.

use std::{io, path::PathBuf};

use crate::{evaluate::EvaluateError, report::WriteError, search::SearchError, store::StoreError};

/// An error with the exit status it leads to.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The command line or a configuration file asks for what cannot be.
    #[error("{0}")]
    Usage(String),
    /// The machine lacks something.
    #[error("{0}")]
    Environment(String),
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Report(#[from] WriteError),
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    #[error(transparent)]
    Search(Box<SearchError>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Exit statuses of the binary.
pub mod exit {
    /// Finished, improved or not.
    pub const FINISHED: u8 = 0;
    /// Usage, configuration, or a contract or baseline that cannot be used.
    pub const USAGE: u8 = 2;
    /// The machine lacks something.
    pub const ENVIRONMENT: u8 = 3;
    /// The budget ended before the baseline was measured.
    pub const BUDGET: u8 = 4;
    /// Answers are awaited.
    pub const PARKED: u8 = 5;
    /// Interrupted; the state is kept.
    pub const INTERRUPTED: u8 = 130;
}

impl EngineError {
    /// The exit status that tells a caller who can mend it.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Read { .. } | Self::Store(StoreError::UnknownRun { .. }) => {
                exit::USAGE
            }
            Self::Environment(_) | Self::Write { .. } | Self::Report(_) | Self::Store(_) => {
                exit::ENVIRONMENT
            }
            Self::Evaluate(error) => match error {
                EvaluateError::Contract { .. } | EvaluateError::OutOfMemory { .. } => exit::USAGE,
                _ => exit::ENVIRONMENT,
            },
            Self::Search(error) => match **error {
                SearchError::Interrupted => exit::INTERRUPTED,
                SearchError::BudgetEndedBeforeBaseline { .. } => exit::BUDGET,
                _ => exit::ENVIRONMENT,
            },
        }
    }
}

impl From<SearchError> for EngineError {
    fn from(error: SearchError) -> Self {
        Self::Search(Box::new(error))
    }
}
