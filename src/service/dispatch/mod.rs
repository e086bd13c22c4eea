//! Performs what is owed to GitHub: one lane of writes an installation, one write after the other.
//!
//! An effect is performed at least once and has its effect once: what creates something looks first for
//! what it may have created before (its marker, by our own App), and what sets something sets it again.
//! It counts as performed when that is in the database together with what follows from it. So it does
//! not matter when this process dies, or whether GitHub's answer was lost.

mod again;
mod branch;
mod check;
mod comment;
mod commit;
mod lanes;
mod perform;
mod publish;

use std::sync::Arc;

use tokio::{sync::OnceCell, task::JoinSet};

use self::{
    again::{Again, again, backoff},
    lanes::Lanes,
};
use super::{
    clock::{Clock, in_millis, millis},
    decide::{self, Completed},
    effect::{self, Body, Task},
};
use crate::{
    github::{GitHub, GitHubError},
    store::{
        StoreError,
        service::{Applied, Change, Effect, EffectDone, Job, JobId, Millis, ServiceStore},
    },
};

/// How a dispatcher behaves.
#[derive(Clone, Debug)]
pub struct DispatchOptions {
    /// Times that something is tried that fails in a way that may pass.
    pub attempts: u32,
    /// Whether branches may be pushed to the repository of a pull request.
    pub branches: bool,
    /// Where people find more, for details links.
    pub details: Option<String>,
}

/// Works off effects.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports are trait objects")]
pub struct Dispatcher {
    pub(super) store: Arc<dyn ServiceStore>,
    pub(super) github: GitHub,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) options: Arc<DispatchOptions>,
    lanes: Arc<Lanes>,
    /// As whom the App appears; asked for once.
    login: Arc<OnceCell<String>>,
}

/// How an effect that was tried ended.
#[derive(Debug)]
enum Tried {
    Completed {
        completed: Completed,
        remote: Option<String>,
    },
    /// Again at this moment.
    Later(Millis, String),
    GivenUp(String),
}

/// Why an effect could not be performed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PerformError {
    #[error(transparent)]
    GitHub(#[from] GitHubError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be done, now or later.
    #[error("{0}")]
    Hopeless(String),
}

impl Dispatcher {
    pub fn new(
        store: Arc<dyn ServiceStore>,
        github: GitHub,
        clock: Arc<dyn Clock>,
        options: DispatchOptions,
    ) -> Self {
        Self {
            store,
            github,
            clock,
            options: Arc::new(options),
            lanes: Arc::default(),
            login: Arc::default(),
        }
    }

    /// Works off everything that is due, each installation's in its own lane; whether there was any.
    pub async fn step(&self) -> Result<bool, StoreError> {
        let owed = self.store.installations_owed(self.clock.now()).await?;
        // They end with this future, at whatever point.
        let mut lanes = JoinSet::new();
        for installation in owed {
            let lane = self.clone();
            lanes.spawn(async move { lane.work_off(installation).await });
        }
        // One that failed does not end the others, which may be in the middle of a write.
        let mut outcome = Ok(false);
        while let Some(worked) = lanes.join_next().await {
            match (&mut outcome, worked.unwrap_or(Ok(false))) {
                (Ok(any), Ok(worked)) => *any |= worked,
                (Ok(_), Err(error)) => outcome = Err(error),
                (Err(_), _) => {}
            }
        }
        outcome
    }

    /// One effect of a lane.
    async fn work_off(&self, installation: u64) -> Result<bool, StoreError> {
        let now = self.clock.now();
        if !self.lanes.is_open(&*self.store, installation, now).await? {
            return Ok(false);
        }
        let Some(effect) = self.store.effects_due(installation, now, 1).await?.into_iter().next()
        else {
            return Ok(false);
        };
        match self.saving_until(&effect, now) {
            Some(due) => {
                let (key, why) = (&effect.new.key, "little of the hourly quota is left");
                self.store.postpone_effect(key, effect.revision, Some(due), why).await?;
            }
            None => self.work(&effect).await?,
        }
        Ok(true)
    }

    /// Progress is the first that is left out where requests run low; the result never.
    fn saving_until(&self, effect: &Effect, now: Millis) -> Option<Millis> {
        let quota = self.github.quota(effect.new.installation)?;
        let is_low = quota.remaining < quota.limit / 10;
        let resets = millis(quota.resets);
        let saves = effect::is_progress(&effect.new) && is_low && resets > now;
        saves.then_some(resets)
    }

    async fn work(&self, effect: &Effect) -> Result<(), StoreError> {
        let key = effect.new.key.as_str();
        let body: Body = match serde_json::from_value(effect.new.body.clone()) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(key, %error, "an effect cannot be read");
                let text = error.to_string();
                return self.store.postpone_effect(key, effect.revision, None, &text).await;
            }
        };
        match self.try_to(effect, &body).await {
            Tried::Completed { completed, remote } => {
                let done = EffectDone { key: key.to_owned(), revision: effect.revision, remote };
                self.follow_up(&body, |job, now| {
                    decide::after(&body, done.clone(), &completed, job, now)
                })
                .await
            }
            Tried::Later(due, error) => {
                tracing::info!(key, error, "postponed");
                self.store.postpone_effect(key, effect.revision, Some(due), &error).await
            }
            Tried::GivenUp(error) => {
                tracing::warn!(key, error, "given up");
                self.follow_up(&body, |job, now| decide::given_up(&body, &error, job, now)).await?;
                self.store.postpone_effect(key, effect.revision, None, &error).await
            }
        }
    }

    async fn try_to(&self, effect: &Effect, body: &Body) -> Tried {
        let error = match self.perform(effect, body).await {
            Ok((completed, remote)) => return Tried::Completed { completed, remote },
            Err(error) => error,
        };
        let now = self.clock.now();
        let text = error.to_string();
        let attempt = effect.attempts + 1;
        match error {
            PerformError::Hopeless(text) => Tried::GivenUp(text),
            PerformError::Store(_) => Tried::Later(now + in_millis(backoff(attempt)), text),
            PerformError::GitHub(error) => match again(&error, attempt, self.options.attempts, now)
            {
                Again::Never => Tried::GivenUp(text),
                Again::At(due) => Tried::Later(due, text),
                Again::AllAt(due) => {
                    let installation = body.place.pull.installation;
                    let closed = self.lanes.close(&*self.store, installation, now, due).await;
                    if let Err(error) = closed {
                        tracing::warn!(%error, "a limit is not kept");
                    }
                    Tried::Later(due, text)
                }
            },
        }
    }

    /// Keeps what follows from an effect, decided upon its job as it stands then.
    async fn follow_up(
        &self,
        body: &Body,
        decide: impl Fn(Option<&Job>, Millis) -> Change,
    ) -> Result<(), StoreError> {
        loop {
            let job = match job_of(&body.task) {
                Some(id) => self.store.job(id).await?,
                None => None,
            };
            let now = self.clock.now();
            match self.store.apply(&decide(job.as_ref(), now), now).await? {
                Applied::Kept | Applied::Duplicate => return Ok(()),
                Applied::Conflict => {}
            }
        }
    }

    async fn login(&self) -> Result<String, GitHubError> {
        if let Some(known) = self.login.get() {
            return Ok(known.clone());
        }
        let login = self.github.app().await?.login();
        // Whoever was faster learnt the same.
        self.login.set(login.clone()).ok();
        Ok(login)
    }

    async fn job(&self, id: &JobId) -> Result<Job, PerformError> {
        let job = self.store.job(id).await?;
        job.ok_or_else(|| PerformError::Hopeless(format!("there is no job {id} any more")))
    }
}

/// The job that an effect belongs to.
fn job_of(task: &Task) -> Option<&JobId> {
    match task {
        Task::Check(state) => Some(&state.job),
        Task::Publish { job } | Task::Result { job, .. } | Task::Commit { job, .. } => Some(job),
        _ => None,
    }
}
