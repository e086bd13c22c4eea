//! What each kind of effect does.

use super::{Dispatcher, PerformError};
use crate::{
    github::{self, GitHubError, Repository},
    service::{
        decide::Completed,
        effect::{Body, Place, Reaction, Task},
    },
    store::service::Effect,
};

/// What was done, and what it made at GitHub.
pub(super) type Performed = Result<(Completed, Option<String>), PerformError>;

const DONE: Performed = Ok((Completed::Done, None));

impl Dispatcher {
    pub(super) fn repository(&self, place: &Place) -> Repository {
        let pull = place.pull;
        self.github.repository(pull.installation, pull.repository, &place.repository)
    }

    pub(super) async fn perform(&self, effect: &Effect, body: &Body) -> Performed {
        let repository = self.repository(&body.place);
        let number = body.place.pull.number;
        match &body.task {
            Task::Check(state) => self.set_check(&repository, effect, state).await,
            Task::Comment { body } => self.say(&repository, effect, number, body).await,
            Task::Result { job, delivery } => {
                self.say_result(&repository, effect, job, delivery).await
            }
            Task::Publish { job } => self.publish(&repository, effect, job).await,
            Task::Commit { job, comment, by } => {
                self.commit(&repository, &body.place, job, *comment, by).await
            }
            Task::ReactToComment { comment, reaction } => {
                // The comment may be gone; a reaction is not worth more than one try.
                let reacted = repository.react_to_comment(*comment, of(*reaction)).await;
                courtesy(reacted)
            }
            Task::ReactToPull { reaction } => {
                courtesy(repository.react_to_issue(number, of(*reaction)).await)
            }
            Task::RemoveLabel { label } => courtesy(repository.remove_label(number, label).await),
            Task::Outdate { sha } => self.outdate(&repository, &body.place, sha).await,
        }
    }
}

fn of(reaction: Reaction) -> github::Reaction {
    match reaction {
        Reaction::Eyes => github::Reaction::Eyes,
        Reaction::Rocket => github::Reaction::Rocket,
        Reaction::Confused => github::Reaction::Confused,
    }
}

/// What does not find its object is done.
fn courtesy<T>(result: Result<T, GitHubError>) -> Performed {
    match result {
        Ok(_) | Err(GitHubError::NotFound | GitHubError::Gone) => DONE,
        Err(error) => Err(error.into()),
    }
}
