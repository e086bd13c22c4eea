//! What a decision needs to know of a pull request, read from GitHub and the database just now: a
//! delivery may be minutes old.

use std::collections::BTreeSet;

use super::{
    decide::{Facts, PullFacts},
    effect::Place,
    event::PullRef,
    order::KernelOrder,
    targets::{self, NoTarget},
};
use crate::{
    engine::project::FILE_NAME,
    github::{GitHub, GitHubError, Pull, PullState, Repository},
    store::{
        StoreError,
        service::{JobState, Millis, ServiceStore, SpentOn},
    },
};

/// A day, for budgets.
const DAY: Millis = 24 * 3600 * 1000;
/// Of the jobs that wait, so many are counted.
const QUEUE: u32 = 1000;
/// Files without a configuration that are looked at for kernels.
const LOOKED_AT: usize = 20;

/// Why facts could not be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum FactsError {
    #[error(transparent)]
    GitHub(#[from] GitHubError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where facts come from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'s> {
    pub(super) github: &'s GitHub,
    pub(super) store: &'s dyn ServiceStore,
    pub(super) now: Millis,
}

impl Sources<'_> {
    fn repository(&self, pull: &PullRef) -> Repository {
        self.github.repository(pull.key.installation, pull.key.repository, &pull.repository)
    }

    /// The pull request as it is.
    pub(super) async fn pull(&self, pull: &PullRef) -> Result<PullFacts, FactsError> {
        let read = self.repository(pull).pull(pull.key.number).await?;
        Ok(described(pull, &read))
    }

    /// Everything that a decision about `sender`'s wish needs; the kernels only where they are asked for.
    pub(super) async fn of(
        &self,
        pull: &PullRef,
        sender: &str,
        named: Option<&[String]>,
    ) -> Result<Facts, FactsError> {
        let repository = self.repository(pull);
        let permission = repository.permission(sender).await?;
        let read = self.pull(pull).await?;
        let jobs = self.store.jobs_of(pull.key).await?;
        let (installation, since) = (pull.key.installation, self.now - DAY);
        let spent_on_pull = self.store.spent(&SpentOn::Pull(pull.key), 0).await?;
        let user = SpentOn::User { installation, login: sender.to_owned() };
        let spent_by_user = self.store.spent(&user, since).await?;
        let everybody = SpentOn::Installation(installation);
        let spent_by_installation = self.store.spent(&everybody, since).await?;
        let queue = self.store.jobs_in(&[JobState::Queued], QUEUE).await?;
        let queue = queue.into_iter().map(|job| job.new.id).collect();
        let may_write = matches!(
            permission,
            crate::github::Permission::Write | crate::github::Permission::Admin
        );
        let targets = match named {
            Some(named) if may_write && read.open => {
                self.targets(&repository, &read, named).await?
            }
            _ => Ok(Vec::new()),
        };
        Ok(Facts {
            now: self.now,
            pull: read,
            permission,
            jobs,
            spent_on_pull,
            spent_by_user,
            spent_by_installation,
            queue,
            targets,
        })
    }

    async fn targets(
        &self,
        repository: &Repository,
        pull: &PullFacts,
        named: &[String],
    ) -> Result<Result<Vec<KernelOrder>, NoTarget>, FactsError> {
        let files = repository.pull_files(pull.place.pull.number).await?;
        let old = files.iter().filter_map(|file| file.previous_filename.clone());
        let touched: BTreeSet<String> =
            files.iter().map(|file| file.filename.clone()).chain(old).collect();
        let text = |bytes: Option<Vec<u8>>| bytes.and_then(|it| String::from_utf8(it).ok());
        let mut change = targets::Change {
            base_configuration: text(repository.content(FILE_NAME, &pull.base_sha).await?),
            head_configuration: text(repository.content(FILE_NAME, &pull.head_sha).await?),
            touched,
            sources: Vec::new(),
        };
        if change.base_configuration.is_none() && change.head_configuration.is_none() {
            let python = |file: &&crate::github::PullFile| {
                file.filename.ends_with(".py") && file.status != "removed"
            };
            for file in files.iter().filter(python).take(LOOKED_AT) {
                // A file that is too large for the API is no kernel.
                let read = match repository.content(&file.filename, &pull.head_sha).await {
                    Ok(read) => read,
                    Err(GitHubError::Unprocessable(_) | GitHubError::Invalid(_)) => None,
                    Err(error) => return Err(error.into()),
                };
                if let Some(source) = text(read) {
                    change.sources.push((file.filename.clone(), source));
                }
            }
        }
        Ok(targets::choose(&change, named))
    }
}

/// What GitHub says of a pull request, as decisions see it.
fn described(pull: &PullRef, read: &Pull) -> PullFacts {
    PullFacts {
        place: Place { pull: pull.key, repository: pull.repository.clone() },
        open: read.state == PullState::Open && !read.merged,
        head_sha: read.head.sha.clone(),
        head_ref: read.head.reference.clone(),
        base_sha: read.base.sha.clone(),
        head_repository: read.head.repo.as_ref().map(|it| (it.id, it.full_name.clone())),
        labels: read.labels.iter().map(|label| label.name.clone()).collect(),
    }
}
