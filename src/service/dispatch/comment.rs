//! Comments: found again by their marker and our own name, then changed or created.

use super::{Dispatcher, PerformError, perform::Performed};
use crate::{
    github::{Comment, GitHubError, Repository},
    service::{
        decide::Completed,
        effect::Place,
        order::{Delivery, results_of},
        words,
    },
    store::service::{Effect, JobId},
};

impl Dispatcher {
    /// Says `text`, whose first line is the marker of the effect's key, once.
    pub(super) async fn say(
        &self,
        repository: &Repository,
        effect: &Effect,
        number: u64,
        text: &str,
    ) -> Performed {
        if let Some(id) = effect.remote.as_deref().and_then(|id| id.parse::<u64>().ok()) {
            match repository.update_comment(id, text).await {
                Ok(_) => return Ok((Completed::Done, Some(id.to_string()))),
                // Somebody deleted it: it is said again.
                Err(GitHubError::NotFound | GitHubError::Gone) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let marker = words::marker_line(&effect.new.key);
        let ours = self.comments_of_ours(repository, number).await?;
        let mut found = ours.iter().filter(|it| first_line(&it.body) == marker);
        let Some(first) = found.next() else {
            let made = repository.create_comment(number, text).await?;
            return Ok((Completed::Done, Some(made.id.to_string())));
        };
        // One too many, wherever from, is one too many.
        for surplus in found {
            match repository.delete_comment(surplus.id).await {
                Ok(()) | Err(GitHubError::NotFound | GitHubError::Gone) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if first.body != text {
            repository.update_comment(first.id, text).await?;
        }
        Ok((Completed::Done, Some(first.id.to_string())))
    }

    pub(super) async fn say_result(
        &self,
        repository: &Repository,
        effect: &Effect,
        job: &JobId,
        delivery: &Delivery,
    ) -> Performed {
        let job = self.job(job).await?;
        let results =
            results_of(&job).map_err(|error| PerformError::Hopeless(error.to_string()))?;
        let texts = self.texts(&results).await?;
        let text = words::result(&job, &results, delivery, &texts);
        self.say(repository, effect, job.new.pull.number, &text).await
    }

    /// Results of other heads are folded away.
    pub(super) async fn outdate(
        &self,
        repository: &Repository,
        place: &Place,
        sha: &str,
    ) -> Performed {
        let ours = self.comments_of_ours(repository, place.pull.number).await?;
        let is_result =
            |it: &&Comment| first_line(&it.body).starts_with("<!-- kernelbrain:result ");
        for comment in ours.iter().filter(is_result) {
            if !first_line(&comment.body).contains(sha) {
                match repository.minimize_comment(&comment.node_id).await {
                    Ok(()) | Err(GitHubError::NotFound | GitHubError::Gone) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok((Completed::Done, None))
    }

    /// Markers are text that anybody can write: only what our own App wrote counts.
    async fn comments_of_ours(
        &self,
        repository: &Repository,
        number: u64,
    ) -> Result<Vec<Comment>, GitHubError> {
        let login = self.login().await?;
        let all = repository.comments(number).await?;
        Ok(all.into_iter().filter(|comment| comment.user.login == login).collect())
    }
}

fn first_line(body: &str) -> &str {
    body.lines().next().unwrap_or_default().trim_end()
}
