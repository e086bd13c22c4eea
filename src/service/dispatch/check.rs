//! The check run of a head: made once, then set.

use super::{Dispatcher, perform::Performed};
use crate::{
    github::{CheckAction, CheckConclusion, CheckStatus, GitHubError, NewCheckRun, Repository},
    service::{
        decide::Completed,
        effect::{CheckStage, CheckState},
        event::Button,
    },
    store::service::Effect,
};

/// What the check run is called.
const NAME: &str = "kernelbrain";

impl Dispatcher {
    pub(super) async fn set_check(
        &self,
        repository: &Repository,
        effect: &Effect,
        state: &CheckState,
    ) -> Performed {
        let wanted = self.check_run(effect, state);
        let known = effect.remote.as_deref().and_then(|id| id.parse::<u64>().ok());
        let known = match known {
            Some(id) => Some(id),
            // An answer may have been lost: look before making another.
            None => {
                let runs = repository.check_runs(&state.sha, NAME).await?;
                let ours = |it: &&crate::github::CheckRun| {
                    it.external_id.as_deref() == Some(effect.new.key.as_str())
                };
                runs.iter().filter(ours).map(|run| run.id).min()
            }
        };
        if let Some(id) = known {
            match repository.update_check_run(id, &wanted).await {
                Ok(_) => return Ok((Completed::Done, Some(id.to_string()))),
                Err(GitHubError::NotFound | GitHubError::Gone) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let made = repository.create_check_run(&wanted).await?;
        Ok((Completed::Done, Some(made.id.to_string())))
    }

    fn check_run(&self, effect: &Effect, state: &CheckState) -> NewCheckRun {
        let (status, conclusion) = match state.stage {
            CheckStage::Queued => (CheckStatus::Queued, None),
            CheckStage::InProgress => (CheckStatus::InProgress, None),
            CheckStage::Success => (CheckStatus::Completed, Some(CheckConclusion::Success)),
            CheckStage::Neutral => (CheckStatus::Completed, Some(CheckConclusion::Neutral)),
            CheckStage::Failure => (CheckStatus::Completed, Some(CheckConclusion::Failure)),
            CheckStage::Cancelled => (CheckStatus::Completed, Some(CheckConclusion::Cancelled)),
        };
        let action = |button: Button, label: &str, description: &str| CheckAction {
            label: label.to_owned(),
            description: description.to_owned(),
            identifier: button.identifier().to_owned(),
        };
        let actions = if state.stage.is_over() {
            vec![action(Button::Again, "Run again", "Search this commit again")]
        } else {
            vec![action(Button::Cancel, "Cancel", "Stop the search")]
        };
        NewCheckRun {
            name: NAME.to_owned(),
            head_sha: state.sha.clone(),
            external_id: effect.new.key.clone(),
            status,
            conclusion,
            title: state.title.clone(),
            summary: state.summary.clone(),
            text: state.text.clone(),
            details_url: self.options.details.clone(),
            actions,
        }
    }
}
