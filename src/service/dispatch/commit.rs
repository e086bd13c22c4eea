//! `/kernelbrain commit`: the verified kernel as a commit on the pull request's branch.

use super::{
    Dispatcher, PerformError,
    branch::{VerifiedFile, commit_files},
    perform::Performed,
    publish::one_a_file,
};
use crate::{
    github::{GitHubError, Pull, Repository},
    service::{
        decide::Completed,
        effect::Place,
        key::Key,
        order::{KernelOutcome, results_of},
        words::{self, Committed},
    },
    store::service::JobId,
};

impl Dispatcher {
    pub(super) async fn commit(
        &self,
        repository: &Repository,
        place: &Place,
        job: &JobId,
        comment: u64,
        by: &str,
    ) -> Performed {
        let job = self.job(job).await?;
        let results =
            results_of(&job).map_err(|error| PerformError::Hopeless(error.to_string()))?;
        let texts = self.texts(&results).await?;
        let pull = repository.pull(place.pull.number).await?;
        let mut files = Vec::new();
        let mut done = 0;
        for index in one_a_file(&results) {
            let kernel = &results.kernels[index];
            let text = |hash: &Option<String>| texts.get(hash.as_ref()?).cloned();
            let (Some(baseline), Some(verified)) = (text(&kernel.baseline), text(&kernel.verified))
            else {
                continue;
            };
            match standing(repository, &pull, kernel, &baseline, &verified).await? {
                Standing::AsMeasured => {
                    files.push(VerifiedFile { path: kernel.source.clone(), text: verified });
                }
                Standing::Done => done += 1,
                Standing::Changed => {
                    let said = Committed::FileChanged { path: kernel.source.clone() };
                    return self.answer(repository, place, comment, &said).await;
                }
            }
        }
        if files.is_empty() {
            let said = if done > 0 { Committed::Already } else { Committed::Nothing };
            return self.answer(repository, place, comment, &said).await;
        }
        let message = words::commit_message(&job, &results, Some(by));
        let said = match put_on_branch(repository, &pull, &files, &message).await {
            Ok(commit) => Committed::Done { commit },
            // Somebody pushed meanwhile, the branch is protected, or the App may not write there.
            Err(PerformError::GitHub(
                GitHubError::Unprocessable(message) | GitHubError::Forbidden(message),
            )) => Committed::Refused { message },
            Err(error) => return Err(error),
        };
        self.answer(repository, place, comment, &said).await
    }

    async fn answer(
        &self,
        repository: &Repository,
        place: &Place,
        comment: u64,
        said: &Committed,
    ) -> Performed {
        let key = Key::Reply { comment };
        let text = words::marked(&key, &words::committed(said));
        let number = place.pull.number;
        let marker = words::marker_line(&key.to_string());
        let login = self.login().await?;
        let there = repository.comments(number).await?;
        let is_said = there.iter().any(|it| it.user.login == login && it.body.starts_with(&marker));
        if !is_said {
            repository.create_comment(number, &text).await?;
        }
        Ok((Completed::Done, None))
    }
}

/// The commit that the pull request's branch is at afterwards.
async fn put_on_branch(
    repository: &Repository,
    pull: &Pull,
    files: &[VerifiedFile],
    message: &str,
) -> Result<String, PerformError> {
    let commit = commit_files(repository, &pull.head.sha, files, message).await?;
    repository.update_ref(&format!("heads/{}", pull.head.reference), &commit).await?;
    Ok(commit)
}

/// How the kernel's file stands at the pull request's head.
enum Standing {
    /// As it was when the search began.
    AsMeasured,
    /// As it was verified.
    Done,
    Changed,
}

async fn standing(
    repository: &Repository,
    pull: &Pull,
    kernel: &KernelOutcome,
    baseline: &str,
    verified: &str,
) -> Result<Standing, PerformError> {
    let there = repository.content(&kernel.source, &pull.head.sha).await?;
    Ok(match there.as_deref() {
        Some(bytes) if bytes == verified.as_bytes() => Standing::Done,
        Some(bytes) if bytes == baseline.as_bytes() => Standing::AsMeasured,
        _ => Standing::Changed,
    })
}
