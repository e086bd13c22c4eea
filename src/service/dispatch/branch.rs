//! Verified files as commits: on a branch of their own, for what cannot be suggested.

use super::{
    PerformError,
    publish::{Publication, Refused},
};
use crate::{
    github::{GitHubError, NewPull, Repository},
    service::{
        key::Key,
        order::{Delivered, Delivery},
        words,
    },
};

/// A file as it is to be.
#[derive(Clone, Debug)]
pub(super) struct VerifiedFile {
    pub(super) path: String,
    pub(super) text: String,
}

impl Publication<'_> {
    /// Puts what could not be suggested on a branch of the repository, with a pull request from it into
    /// the pull request's branch.
    pub(super) async fn branch(
        &self,
        refused: &[Refused],
        delivery: &mut Delivery,
    ) -> Result<(), PerformError> {
        let files: Vec<VerifiedFile> = refused
            .iter()
            .filter_map(|(index, _)| {
                let kernel = &self.results.kernels[*index];
                let (_, verified) = self.sides(kernel)?;
                Some(VerifiedFile { path: kernel.source.clone(), text: verified.to_owned() })
            })
            .collect();
        let sha = &self.job.new.head_sha;
        let name = format!("kernelbrain/pr-{}-{}", self.number(), &sha[..8]);
        let name = match self.branch_state(&name, &files).await? {
            Branch::Free => {
                self.push(&name, &files).await?;
                name
            }
            Branch::Ours => name,
            // Of an earlier search of the same commit, with another result.
            Branch::Taken => {
                let name = format!("{name}-{}", self.job.new.id);
                if self.branch_state(&name, &files).await? == Branch::Free {
                    self.push(&name, &files).await?;
                }
                name
            }
        };
        let marker = words::marker_line(&Key::Publish(self.job.new.id.clone()).to_string());
        let open = self.repository.pulls_with_head(&name).await?;
        let made = match open.into_iter().next() {
            Some(pull) => Some(pull),
            None => {
                let (title, body) = words::stacked_pull(&marker, self.job, self.results, refused);
                let pull = NewPull {
                    title,
                    body,
                    head: name.clone(),
                    base: self.pull.head.reference.clone(),
                    draft: true,
                };
                match self.repository.create_pull(&pull).await {
                    Ok(pull) => Some(pull),
                    // The branch is there; a person can open one.
                    Err(GitHubError::Unprocessable(_) | GitHubError::Forbidden(_)) => None,
                    Err(error) => return Err(error.into()),
                }
            }
        };
        for (index, instead) in refused {
            delivery.kernels[*index] = Delivered::Branch {
                branch: name.clone(),
                pull: made.as_ref().map(|pull| pull.number),
                url: made.as_ref().and_then(|pull| pull.html_url.clone()),
                instead: instead.clone(),
            };
        }
        Ok(())
    }

    async fn branch_state(
        &self,
        name: &str,
        files: &[VerifiedFile],
    ) -> Result<Branch, PerformError> {
        let Some(at) = self.repository.get_ref(&format!("heads/{name}")).await? else {
            return Ok(Branch::Free);
        };
        for file in files {
            let there = self.repository.content(&file.path, &at).await?;
            if there.as_deref() != Some(file.text.as_bytes()) {
                return Ok(Branch::Taken);
            }
        }
        Ok(Branch::Ours)
    }

    async fn push(&self, name: &str, files: &[VerifiedFile]) -> Result<(), PerformError> {
        let head = &self.job.new.head_sha;
        let message = words::commit_message(self.job, self.results, None);
        let commit = commit_files(self.repository, head, files, &message).await?;
        self.repository.create_ref(&format!("refs/heads/{name}"), &commit).await?;
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Branch {
    Free,
    /// It holds these very files.
    Ours,
    Taken,
}

/// A commit on `parent` in which `files` are as given.
pub(super) async fn commit_files(
    repository: &Repository,
    parent: &str,
    files: &[VerifiedFile],
    message: &str,
) -> Result<String, PerformError> {
    let base = repository.commit_tree(parent).await?;
    let mut entries = Vec::with_capacity(files.len());
    for file in files {
        let blob = repository.create_blob(file.text.as_bytes()).await?;
        entries.push((file.path.clone(), blob));
    }
    let tree = repository.create_tree(&base, &entries).await?;
    Ok(repository.create_commit(message, &tree, &[parent.to_owned()]).await?)
}
