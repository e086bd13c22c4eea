//! Handles deliveries: those that ask for nothing together, the others one after the other, each by event,
//! facts, decision, one change.

use std::{sync::Arc, time::Duration};

use super::{
    clock::{Clock, in_millis, millis},
    command::{self, Command},
    decide::{self, Approval, Policy, Trigger},
    event::{self, Button, Event, PullRef},
    facts::{FactsError, Sources},
    key,
};
use crate::{
    github::{GitHub, GitHubError},
    store::{
        StoreError,
        service::{Applied, Change, Delivery, JobState, ServiceStore},
    },
};

/// Times that a delivery is tried before it is given up: for five hours.
const ATTEMPTS: u32 = 40;
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Times the first.
const LONGEST_WAIT: u32 = 600;
/// Deliveries that are read at a time.
const AT_A_TIME: u32 = 50;
/// Most jobs that one event looks at.
const MOST_JOBS: u32 = 10_000;
/// Most effects that are dropped with an installation.
const MOST_EFFECTS: u32 = 100_000;

/// Handles deliveries.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports are trait objects")]
pub struct Intake {
    pub(super) store: Arc<dyn ServiceStore>,
    pub(super) github: GitHub,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) policy: Arc<Policy>,
}

/// What a step of [`Intake`] took in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub deliveries: usize,
    /// Whether something may follow from them: to be leased, or to be performed at GitHub.
    pub followed: bool,
}

impl Taken {
    /// Whether more may wait than one step takes.
    pub fn is_full(self) -> bool {
        self.deliveries >= AT_A_TIME as usize
    }
}

/// Why a delivery could not be handled now.
#[derive(Debug, thiserror::Error)]
enum HandleError {
    #[error(transparent)]
    Payload(#[from] event::PayloadError),
    #[error(transparent)]
    Facts(#[from] FactsError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Intake {
    pub fn new(
        store: Arc<dyn ServiceStore>,
        github: GitHub,
        clock: Arc<dyn Clock>,
        policy: Policy,
    ) -> Self {
        Self { store, github, clock, policy: Arc::new(policy) }
    }

    /// Handles what is due.
    pub async fn step(&self) -> Result<Taken, StoreError> {
        let due = self.store.deliveries_due(self.clock.now(), AT_A_TIME).await?;
        let read = due.iter().map(|it| (it, event::read(&it.receipt.event, &it.receipt.body)));
        let (idle, rest): (Vec<_>, Vec<_>) =
            read.partition(|(_, event)| matches!(event, Ok(event) if self.asks_for_nothing(event)));
        let followed = !rest.is_empty();
        // As most do: not a transaction, and with it a flush to the disk, for each of them.
        let ids: Vec<&str> =
            idle.iter().map(|(delivery, _)| delivery.receipt.id.as_str()).collect();
        let alone = match ids.is_empty() || self.done_together(&ids).await {
            true => rest,
            false => idle.into_iter().chain(rest).collect(),
        };
        for (delivery, event) in alone {
            self.handle(delivery, event).await?;
        }
        Ok(Taken { deliveries: due.len(), followed })
    }

    /// `false` where the database would not have it: then each is on its own, so that none keeps the
    /// others.
    async fn done_together(&self, ids: &[&str]) -> bool {
        let done = self.store.deliveries_done(ids, self.clock.now()).await;
        if let Err(error) = &done {
            tracing::warn!(%error, deliveries = ids.len(), "not done together");
        }
        done.is_ok()
    }

    /// Whether nothing follows, whatever GitHub and the database know.
    fn asks_for_nothing(&self, event: &Event) -> bool {
        match event {
            Event::Ignored(_) => true,
            Event::Labeled { label, .. } => *label != self.policy.label,
            Event::Commented { body, .. } => command::parse(body).is_none(),
            _ => false,
        }
    }

    async fn handle(
        &self,
        delivery: &Delivery,
        event: Result<Event, event::PayloadError>,
    ) -> Result<(), StoreError> {
        let id = delivery.receipt.id.as_str();
        let error = match self.decide_and_keep(delivery, event).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let text = error.to_string();
        let due = self.due_again(&error, delivery.attempts + 1);
        match due {
            Some(_) => tracing::info!(delivery = id, error = text, "postponed"),
            None => tracing::warn!(delivery = id, error = text, "given up"),
        }
        self.store.postpone_delivery(id, due, &text).await
    }

    /// When to try again; `None` for never. Acting late does no harm: everything is read from GitHub
    /// anew. To give up does: whoever asked is not heard, and GitHub does not ask twice.
    fn due_again(&self, error: &HandleError, attempt: u32) -> Option<i64> {
        let now = self.clock.now();
        let later = now + in_millis(FIRST_WAIT * (1 << attempt.min(10)).min(LONGEST_WAIT));
        let tried_enough = attempt >= ATTEMPTS;
        match error {
            HandleError::Payload(_) => None,
            HandleError::Facts(FactsError::GitHub(GitHubError::RateLimited { until })) => {
                Some(millis(*until).max(now + 1000))
            }
            // A key to be replaced: nobody is to ask again because of it.
            HandleError::Facts(FactsError::GitHub(
                GitHubError::Unauthorized | GitHubError::Setup(_),
            )) => Some(later),
            HandleError::Store(_) | HandleError::Facts(_) => (!tried_enough).then_some(later),
        }
    }

    async fn decide_and_keep(
        &self,
        delivery: &Delivery,
        event: Result<Event, event::PayloadError>,
    ) -> Result<(), HandleError> {
        let receipt = &delivery.receipt;
        let event = event?;
        loop {
            let mut change = match self.decide(&event, &receipt.id).await {
                Ok(change) => change,
                // A pull request that is gone, or a repository the App was taken off.
                Err(HandleError::Facts(FactsError::GitHub(
                    error @ (GitHubError::NotFound | GitHubError::Gone),
                ))) => {
                    tracing::info!(delivery = receipt.id, %error, "about something that is gone");
                    Change::default()
                }
                Err(error) => return Err(error),
            };
            change.delivery = Some(receipt.id.clone());
            match self.store.apply(&change, self.clock.now()).await? {
                Applied::Kept | Applied::Duplicate => return Ok(()),
                Applied::Conflict => {}
            }
        }
    }

    async fn decide(&self, event: &Event, delivery: &str) -> Result<Change, HandleError> {
        let sources = Sources { github: &self.github, store: &*self.store, now: self.clock.now() };
        match event {
            Event::Ignored(why) => {
                tracing::debug!(delivery, why, "ignored");
                Ok(Change::default())
            }
            Event::Labeled { label, .. } if *label != self.policy.label => Ok(Change::default()),
            Event::Labeled { pull, sha, sender, .. } => {
                let trigger = Trigger::Label { delivery: delivery.to_owned(), sha: sha.to_owned() };
                self.wish(sources, pull, sender, trigger, &command::Wish::default()).await
            }
            Event::Commented { pull, comment, body, sender } => {
                let Some(parsed) = command::parse(body) else { return Ok(Change::default()) };
                if let Ok(Command::Optimize(wish)) = &parsed {
                    let trigger = Trigger::Command { comment: *comment };
                    return self.wish(sources, pull, sender, trigger, wish).await;
                }
                let facts = sources.of(pull, sender, None).await?;
                Ok(decide::converse(&parsed, *comment, sender, &facts))
            }
            Event::CheckButton { repository, external_id, button, sender } => {
                let Some((key, sha)) = key::of_check(external_id) else {
                    return Ok(Change::default());
                };
                // Of this repository, as GitHub says, and not only as the text says.
                if (key.repository, key.installation) != (repository.id, repository.installation) {
                    return Ok(Change::default());
                }
                let pull = PullRef { key, repository: repository.name.clone() };
                match button {
                    Button::Again => {
                        let trigger = Trigger::Button { delivery: delivery.to_owned(), sha };
                        let wish = command::Wish::default();
                        self.wish(sources, &pull, sender, trigger, &wish).await
                    }
                    Button::Cancel => {
                        let facts = sources.of(&pull, sender, None).await?;
                        Ok(decide::cancel_by_button(sender, &sha, &facts))
                    }
                }
            }
            Event::Synchronized { pull } => {
                let facts = sources.pull(pull).await?;
                let jobs = self.store.jobs_of(pull.key).await?;
                Ok(decide::pushed(&facts, &jobs, &self.policy.label, sources.now))
            }
            Event::Closed { pull } => {
                // It may have been opened again since.
                if sources.pull(pull).await?.open {
                    return Ok(Change::default());
                }
                let jobs = self.store.jobs_of(pull.key).await?;
                Ok(decide::closed(&jobs, sources.now))
            }
            Event::InstallationGone { installation } => {
                let open =
                    [JobState::Queued, JobState::Leased, JobState::Running, JobState::Measured];
                let jobs = self.store.jobs_in(&open, MOST_JOBS).await?;
                let owed = self.store.effects_due(*installation, i64::MAX, MOST_EFFECTS).await?;
                Ok(decide::installation_gone(&jobs, &owed, *installation, sources.now))
            }
        }
    }

    async fn wish(
        &self,
        sources: Sources<'_>,
        pull: &PullRef,
        sender: &str,
        trigger: Trigger,
        wish: &command::Wish,
    ) -> Result<Change, HandleError> {
        let facts = sources.of(pull, sender, Some(&wish.kernels)).await?;
        let approval = Approval {
            trigger,
            sender: sender.to_owned(),
            sha: wish.sha.clone(),
            budget: wish.budget,
        };
        Ok(decide::request(&approval, &facts, &self.policy))
    }
}
